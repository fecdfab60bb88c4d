// The noise of the machine, from the control kernel and from one layer timed twice.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "record/result.hpp"

namespace headroom::judge {

/// Whether both have the same control, so that their `steadied` samples can be compared. It runs on
/// the leading rank's threads, and other ranks may spin while they wait for it: cells of more or
/// fewer ranks have another control.
bool same_control(const record::CellResult& a, const record::CellResult& b);

/// Why a time is impossible: its rate exceeds the FMA rate measured beside it, or the roof of its
/// own precision, by more than the scatter of that rate. Empty if it does not, or if no such roof
/// was measured.
std::string beyond_peak(const record::CellResult& result);

struct NoiseFloor {
  double floor = 0;       ///< 95th percentile of |ratio - 1|; with few shapes the largest
  std::size_t count = 0;  ///< shapes with a layer timed twice
};

/// From the A/A pairs among the results; nothing if there are none.
std::optional<NoiseFloor> noise_floor(const std::vector<record::CellResult>& results);

/// How far the control varied over a sweep with one number of ranks and threads, as shares of its
/// median.
struct ControlDrift {
  int ranks = 1;
  int threads = 1;     ///< of the leading rank
  double gflops = 0;   ///< median over the cells
  double between = 0;  ///< from the slowest cell to the fastest
  double within = 0;   ///< median over the cells of the scatter of the readings beside one cell
};

/// On what the control ran, such as `2 threads`, or `1 thread of the leading one of 4 ranks`.
std::string control_words(const ControlDrift& drift);

/// By number of ranks and threads; empty without a control.
std::vector<ControlDrift> control_drift(const std::vector<record::CellResult>& results);

}  // namespace headroom::judge
