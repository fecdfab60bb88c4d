// What a layer should take whose heads are divided over several processes, from its phases in one.
#pragma once

#include <vector>

#include "core/case.hpp"
#include "headroom/attention.hpp"
#include "record/peaks.hpp"

namespace headroom::judge {

/// The numbers of ranks that a prediction is made for: 1, 2, 4, ..., 64.
std::vector<int> predicted_ranks();

/// Seconds to add up the ranks' parts of y, and to leave the sum with every rank; 0 for one rank.
///
/// A reduce-scatter and an all-gather of `rows() * output_width()` floats, as Thakur, Rabenseifner
/// and Gropp model them ("Optimization of Collective Communication Operations in MPICH",
/// International Journal of High Performance Computing Applications 19(1), 2005), without the time
/// of the additions themselves: `2 (R - 1) / R` of the bytes over the bandwidth, and
/// `2 ceil(log2 R)` latencies.
double sum_seconds(const Case& shape, int ranks, const record::Link& link);

/// The link with which `sum_seconds` gives what two sums took: a brief one, whose bytes do not
/// count, and a long one. @pre at least 2 ranks
record::Link link_of_sums(int ranks, double brief_seconds, double long_bytes, double long_seconds);

/// Seconds of one pass on so many ranks, each on as many threads as the one rank had whose phases
/// are given: these phases as far as the rank with most heads needs them, and the sum.
double predict_seconds(const Case& shape, const PhaseTimes& one_rank, int ranks,
                       const record::Link& link);

}  // namespace headroom::judge
