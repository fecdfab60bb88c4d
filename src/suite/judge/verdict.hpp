// Whether two lists of samples differ. Every claim that something is faster or slower comes from
// here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "statistics/intervals.hpp"

namespace headroom::judge {

enum class Verdict { faster, slower, same, not_distinguishable };

/// As people read it: `"faster"`, `"slower"`, `"same"`, `"not distinguishable"`.
std::string_view to_string(Verdict verdict);

/// Times of one cell from two runs, or of two cells from one run.
struct SamplePair {
  statistics::SamplesByProcess base;
  statistics::SamplesByProcess next;
  double noise_floor = 0;  ///< ratio minus 1 by which equal programs may differ; 0: unknown
};

struct CompareSettings {
  double threshold = 0.03;  ///< ratio minus 1 below which a difference does not matter
  std::uint64_t seed = 1;
};

struct Difference {
  double ratio = 1;           ///< of the medians, next / base; above 1 is slower
  statistics::Interval ci95;  ///< of the ratio
  double p = 1;               ///< of no difference: Welch's, of the processes' medians
  double corrected_p = 1;     ///< corrected for all pairs compared together
  double margin = 0;          ///< the larger of threshold and noise floor
  bool enough = false;        ///< both sides are from several processes
  Verdict verdict = Verdict::not_distinguishable;
};

/// Of the fastest to itself: a ratio of 1, `same`.
inline Difference no_difference() {
  Difference none;
  none.ci95 = {1, 1};
  none.verdict = Verdict::same;
  return none;
}

inline constexpr double kSignificance = 0.05;

/// `slower` or `faster` requires that there is a difference, by a corrected p below `kSignificance`
/// and by a confidence interval of the ratio that does not reach 1, and that it matters: the ratio
/// is beyond the margin (above `1 + margin` or below `1 / (1 + margin)`). `same` requires an
/// interval entirely within the margin. Everything else is not distinguishable, and so is whatever
/// one process took on either side: its samples share the luck of its launch, and of equal programs
/// they call a tenth and more different. An interval entirely beyond the margin, which we required
/// before, misses most differences of little more than the margin.
/// @pre no sample list is empty, and all samples are above 0.
std::vector<Difference> compare_samples(const std::vector<SamplePair>& pairs,
                                        const CompareSettings& settings = {});

/// One pair alone.
Difference compare_samples(const SamplePair& pair, const CompareSettings& settings = {});

}  // namespace headroom::judge
