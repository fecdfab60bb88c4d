// What a cell will cost, before it is run: a rough model, corrected by what was seen.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "headroom/shape.hpp"
#include "sweep/cells.hpp"

namespace headroom::sweep {

/// Bytes of weights, input, output and expected result, which the rivals of a shape share.
/// Saturates instead of overflowing.
std::int64_t shared_bytes(const Shape& shape);

/// Bytes of one cell's packed weights and workspace.
std::int64_t cell_bytes(const Shape& shape, const Cell& cell);

/// How long a cell is timed.
struct TimingPlan {
  int repetitions = 9;
  double min_time = 0.05;
};

/// At least this many samples, whatever a cell takes.
inline constexpr int kMinRepetitions = 3;

/// Cells of more than a second a pass get fewer repetitions than asked for.
int affordable_repetitions(int asked, double forward_seconds);

/// FLOPs that checking one shape may cost; larger shapes have only some of their rows checked.
inline constexpr double kCheckFlops = 3e9;

class Estimator {
 public:
  /// Seconds of one forward pass.
  double forward_seconds(const Shape& shape, const Cell& cell) const;

  /// Seconds from making the layer to its last sample.
  double cell_seconds(const Shape& shape, const Cell& cell, const TimingPlan& plan) const;

  /// Seconds of drawing weights and computing the expected result of a shape.
  double group_seconds(const Shape& shape) const;

  /// Learns from a forward pass that took `seconds`.
  void observe(const Shape& shape, const Cell& cell, double seconds);

 private:
  static double modelled_seconds(const Shape& shape, const Cell& cell);
  static std::string key(const Cell& cell);

  std::map<std::string, double> correction_;  ///< log of seen over modelled time, smoothed
};

}  // namespace headroom::sweep
