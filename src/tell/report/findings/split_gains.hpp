// What one wide matrix gains over one small matrix per head, by number of heads: the question that
// this project began with.
#pragma once

#include <cstdint>
#include <vector>

#include "report/findings/findings.hpp"

namespace headroom::report {

/// Of each backend the `split` cell on the most threads that was compared with `wrapper`, the most
/// exact one of several; of those that compete.
std::vector<const Contest*> split_cells(const ShapeFindings& shape);

/// Shapes that differ in their number of heads alone, which keep either the width of the layer or
/// that of a head.
struct SplitGains {
  struct AtHeads {
    const ShapeFindings* shape = nullptr;
    std::vector<const Contest*> cells;  ///< see `split_cells`; at least one
    std::int64_t heads() const { return shape->shape.heads; }
  };
  bool of_width = true;           ///< else heads of one width
  std::vector<AtHeads> by_heads;  ///< at least two, the fewest heads first
};

/// Of the numbers that the headline speaks of. The series with the most numbers of heads come
/// first, of these the ones with the most cells. Heads of one width count only where they are more
/// than in any layer of one width, because there the work grows with the heads.
std::vector<SplitGains> split_gains(const Findings& findings);

}  // namespace headroom::report
