// What a cell will cost, before it is run: a rough model, corrected by what was seen.
#pragma once

#include <cstdint>
#include <map>
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
  std::int64_t bytes = 0;  ///< with what the rivals of its shape share
  double seconds = 0;      ///< from making the layer to its last sample
};

/// How long a cell is timed.
struct TimingPlan {
  int repetitions = 9;
  double min_time = 0.05;  ///< seconds of a sample; with cold caches a sample is one pass
  bool cold = false;       ///< caches are emptied before each sample
  double beside = 0;       ///< seconds spent beside each sample, on the control and on the caches

  /// Seconds of one sample and of what stands beside it.
  double sample_seconds(double forward_seconds) const;
};

/// Seconds that the control and its clock take before and after a sample.
inline constexpr double kControlSeconds = 2 * (machine::kBursts * machine::kBurstSeconds +
                                               machine::kClockBursts * machine::kClockBurstSeconds);

/// Passes whose phases are taken where a pass is short; their medians are recorded.
inline constexpr int kPhaseRuns = 5;
/// Seconds up to which a pass is short, and the fastest rival of a shape is timed twice.
inline constexpr double kShortPass = 0.2;

/// At least this many samples, whatever a cell takes: with fewer it could not be told from others.
inline constexpr int kMinRepetitions = static_cast<int>(statistics::kLeastSamples);

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

  /// Memory and time of a cell. Saturates instead of overflowing.
  CellEstimate estimate(const Shape& shape, const Cell& cell, const TimingPlan& plan) const;

  /// Seconds of what the rivals of a shape share: the weights, the expected result, and the second
  /// timing of one of them.
  double group_seconds(const Group& group, const TimingPlan& plan) const;

  /// Learns from a forward pass that took `seconds`.
  void observe(const Shape& shape, const Cell& cell, double seconds);

  /// Learns from a layer whose making took `seconds`.
  void observe_setup(const Shape& shape, const Cell& cell, double seconds);

 private:
  /// Log of seen over modelled time, smoothed.
  using Corrections = std::map<std::string, double>;

  double setup_seconds(const Shape& shape, const Cell& cell) const;
  static void learn(Corrections& corrections, const std::string& key, double ratio);
  static double modelled_seconds(const Shape& shape, const Cell& cell);
  static std::string key(const Cell& cell);

  Corrections forward_;  ///< by backend and formulation
  Corrections setup_;    ///< by backend
};

}  // namespace headroom::plan
