// Tests whether two small sets of samples differ.
#pragma once

#include <cstddef>
#include <vector>

namespace headroom::statistics {

/// A two-sided Mann-Whitney U test.
struct RankTest {
  double u = 0;        ///< pairs in which the value of `a` is larger; ties count one half
  double p = 1;        ///< probability of a U at least as extreme if a and b do not differ
  bool exact = false;  ///< whether p is from the exact distribution of U
};

/// Exact without ties and with up to `kMostExact` values per side, otherwise the normal
/// approximation with continuity and tie correction (Mann and Whitney 1947, Ann. Math. Stat. 18).
/// @pre neither is empty.
RankTest mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

// Up to here the counts of all arrangements, at most C(50, 25) = 1.3e14, are exact as doubles.
inline constexpr std::size_t kMostExact = 25;

/// Corrects the p-values of many tests to control the false discovery rate (Benjamini and Hochberg
/// 1995, J. R. Stat. Soc. B 57): of the differences claimed at a level, no more than that share is
/// expected to be false. We tried Holm's correction, under which no one of 100 cells with few
/// samples could be called different. Drift moves the cells of a run together, and this correction
/// also holds under such positive dependence.
std::vector<double> correct_for_many(const std::vector<double>& p);

}  // namespace headroom::statistics
