// What one wide matrix in place of one small matrix for each head wins: split over wrapper, by
// backends and heads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "across/cells.hpp"
#include "judge/ranking.hpp"

namespace headroom::across {

/// A backend's two formulations at one number of heads, of one run.
struct SplitField {
  const record::CellResult* wrapper = nullptr;
  const record::CellResult* split = nullptr;
  judge::Difference difference;  ///< of split's time over wrapper's; below 1, split is faster

  /// Wrapper's time over split's, with its interval.
  double factor() const { return 1 / difference.ratio; }
  statistics::Interval factor_ci95() const {
    return {1 / difference.ci95.high, 1 / difference.ci95.low};
  }
};

/// Shapes of one machine's run that differ in their heads: in f32, on warm caches, each backend on
/// the fewest threads that it was measured on.
struct HeadPanel {
  std::size_t machine = 0;
  std::size_t entry = 0;
  /// All shapes have one width, so that only the number of matrices differs; else their heads have
  /// one width.
  bool one_width = false;
  std::vector<std::int64_t> heads;  ///< ascending, at least two
  std::vector<std::string> backends;
  std::vector<SplitField> fields;

  /// Null where it was not measured, or not verified.
  const SplitField* at(const std::string& backend, std::int64_t wanted) const;
  /// The shape with the fewest heads.
  const Case& shape() const;
};

/// Of each machine all shapes of one width whose largest number of heads is at least four times the
/// smallest, each series from the newest folder that has it. A machine without any has one panel of
/// heads of one width: the one with the most numbers of heads.
std::vector<HeadPanel> find_head_panels(const Collection& collection);

/// As `compare_standings`.
void compare_head_panels(std::vector<HeadPanel>& panels, const Collection& collection,
                         judge::Comparisons& comparisons);

}  // namespace headroom::across
