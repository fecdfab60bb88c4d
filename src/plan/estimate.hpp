// What a cell will cost before it is run: a rough model, corrected by observed times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "headroom/shape.hpp"
#include "machine/meters/peak.hpp"
#include "plan/cell.hpp"
#include "statistics/samples.hpp"

namespace headroom::plan {

/// Bytes of weights, input, output and expected result, which the rivals of a shape share.
/// Saturates instead of overflowing.
std::int64_t shared_bytes(const Shape& shape);

/// Bytes of one cell's packed weights and workspace.
std::int64_t cell_bytes(const Shape& shape, const Cell& cell);

/// What a cell will take.
struct CellEstimate {
  std::int64_t bytes = 0;  ///< including what the rivals of its shape share
  double seconds = 0;      ///< from creating the layer to its last sample
};

/// How a cell is timed.
struct TimingPlan {
  int repetitions = 9;
  double min_time = 0.05;  ///< seconds per sample; with cold caches a sample is one pass
  bool cold = false;       ///< caches are emptied before each sample
  double beside = 0;       ///< seconds per sample spent on the control
  double emptying = 0;     ///< seconds to empty the caches, before each pass

  std::optional<double> cell_limit;  ///< seconds that a cell may take in total

  /// Seconds for one sample, including `beside`.
  double sample_seconds(double forward_seconds) const;

  /// Samples of a cell with passes of `forward_seconds`: fewer than requested if a pass takes more
  /// than a second, and as few as one if more would exceed the limit.
  /// @param spent seconds that the cell has taken before its first sample
  int affordable_repetitions(double forward_seconds, double spent) const;
};

/// Seconds that the control and its clock take per sample, before and after it together.
inline constexpr double kControlSeconds = 2 * (machine::kBursts * machine::kBurstSeconds +
                                               machine::kClockBursts * machine::kClockBurstSeconds);

/// Passes whose phases are timed if a pass is short; their medians are recorded.
inline constexpr int kPhaseRuns = 5;
/// A pass below this many seconds is short. If the fastest rival of a shape is, it is timed twice.
inline constexpr double kShortPass = 0.2;

/// The least number of samples, if the limit of a cell allows it: with fewer a cell cannot be
/// distinguished from others.
inline constexpr int kMinRepetitions = static_cast<int>(statistics::kLeastSamples);

/// FLOPs that checking one shape may cost. Only some of the rows of larger shapes are checked.
inline constexpr double kCheckFlops = 3e9;

class Estimator {
 public:
  /// Seconds per forward pass.
  double forward_seconds(const Shape& shape, const Cell& cell) const;

  /// Seconds from creating the layer to its last sample.
  double cell_seconds(const Shape& shape, const Cell& cell, const TimingPlan& plan) const;

  /// Memory and time of a cell. Saturates instead of overflowing.
  CellEstimate estimate(const Shape& shape, const Cell& cell, const TimingPlan& plan) const;

  /// Seconds for what the rivals of a shape share: the weights, the expected result, and the twin.
  double group_seconds(const Group& group, const TimingPlan& plan) const;

  /// Learns from a forward pass that took `seconds`.
  void observe(const Shape& shape, const Cell& cell, double seconds);

  /// Learns from a layer whose construction took `seconds`.
  void observe_setup(const Shape& shape, const Cell& cell, double seconds);

 private:
  /// Log of observed over modelled time, smoothed.
  using Corrections = std::map<std::string, double>;

  double setup_seconds(const Shape& shape, const Cell& cell) const;
  static void learn(Corrections& corrections, const std::string& key, double ratio);
  static double modelled_seconds(const Shape& shape, const Cell& cell);
  static std::string key(const Cell& cell);

  Corrections forward_;  ///< by backend and formulation
  Corrections setup_;    ///< by backend
};

}  // namespace headroom::plan
