// Whether two handfuls of samples are alike.
#pragma once

#include <cstddef>
#include <vector>

namespace headroom::statistics {

/// A two-sided Mann-Whitney U test.
struct RankTest {
  double u = 0;        ///< pairs in which the value of `a` is the larger; ties count one half
  double p = 1;        ///< probability of a U at least as far from the middle if a and b are alike
  bool exact = false;  ///< from the distribution of U itself, not from its normal approximation
};

/// Exact without ties and up to `kMostExact` values a side, else the normal approximation with
/// continuity and tie correction (Mann and Whitney 1947, Ann. Math. Stat. 18). @pre none is empty.
RankTest mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

// Up to here the counts of all arrangements, at most C(50, 25) = 1.3e14, are exact as doubles.
inline constexpr std::size_t kMostExact = 25;

/// p-values of many tests, corrected so that of the differences claimed at a level, no more than
/// that share is false (Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57). Not Holm's: under his,
/// one of 100 cells with few samples could never be called different, and drift, which moves the
/// cells of a run together, is of the kind under which this correction holds as well.
std::vector<double> correct_for_many(const std::vector<double>& p);

}  // namespace headroom::statistics
