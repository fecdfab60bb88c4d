// What the machine did beside the program: the control kernel, and one layer timed twice.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "record/result.hpp"

namespace headroom::judge {

/// Whether the two were measured against the same control, so that `steadied` ones compare.
bool same_control(const record::CellResult& a, const record::CellResult& b);

/// Why a time cannot be: it is above 100 % of the FMA rate taken beside it, by more than that rate
/// itself scatters. Empty if all is well.
std::string beyond_peak(const record::CellResult& result);

struct NoiseFloor {
  double floor = 0;       ///< 95th percentile of |ratio - 1|; for few shapes the largest
  std::size_t count = 0;  ///< shapes that had a layer timed twice
};

/// From the A/A pairs among the results; nothing if there are none.
std::optional<NoiseFloor> noise_floor(const std::vector<record::CellResult>& results);

/// How far the control moved over a sweep, on one number of threads; shares of its median.
struct ControlDrift {
  int threads = 1;
  double gflops = 0;   ///< median over the cells
  double between = 0;  ///< from the slowest cell to the fastest
  double within = 0;   ///< median over the cells of how far the readings beside one scatter
};

/// By number of threads; empty without a control.
std::vector<ControlDrift> control_drift(const std::vector<record::CellResult>& results);

}  // namespace headroom::judge
