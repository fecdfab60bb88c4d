// What a cell will cost before it is run: a rough model, corrected by observed times.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/case.hpp"
#include "plan/cell.hpp"
#include "plan/timing_plan.hpp"

namespace headroom::plan {

/// Bytes of weights, input, output and expected result, which the rivals of a shape share.
/// Saturates instead of overflowing.
std::int64_t shared_bytes(const Case& shape);

/// Bytes of one cell's packed weights, workspace and cache; of several ranks, all of theirs, with
/// the x and y of all but one.
std::int64_t cell_bytes(const Case& shape, const Cell& cell);

/// What a cell will take.
struct CellEstimate {
  std::int64_t bytes = 0;  ///< including what the rivals of its shape share
  double seconds = 0;      ///< from creating the layer to its last sample
};

/// Seconds of the control per sample, of which `TimingPlan::beside` has the most: the reading after
/// a sample is also the one before the next, if that is on as many threads. Rivals take turns in
/// random order.
double control_seconds(const Plan& plan);

/// FLOPs that checking one shape may cost. Only some of the rows of larger shapes are checked.
inline constexpr double kCheckFlops = 3e9;

class Estimator {
 public:
  /// Seconds per forward pass.
  double forward_seconds(const Case& shape, const Cell& cell) const;

  /// Seconds to fill the cache with the past, in each process; 0 without one.
  double fill_seconds(const Case& shape, const Cell& cell) const;

  /// Seconds from creating the layer to its last sample.
  double cell_seconds(const Case& shape, const Cell& cell, const TimingPlan& plan) const;

  /// Memory and time of a cell. Saturates instead of overflowing.
  CellEstimate estimate(const Case& shape, const Cell& cell, const TimingPlan& plan) const;

  /// Seconds for what the rivals of a shape share: the weights, the expected result, the processes,
  /// and the twin.
  double group_seconds(const Group& group, const TimingPlan& plan) const;

  /// Learns from a forward pass that took `seconds`.
  void observe(const Case& shape, const Cell& cell, double seconds);

  /// Learns from a cache that took `seconds` to fill.
  void observe_fill(const Case& shape, const Cell& cell, double seconds);

  /// Learns from a layer whose construction took `seconds`.
  void observe_setup(const Case& shape, const Cell& cell, double seconds);

 private:
  /// Log of observed over modelled time, smoothed.
  using Corrections = std::map<std::string, double>;

  double setup_seconds(const Case& shape, const Cell& cell) const;
  static void learn(Corrections& corrections, const std::string& key, double ratio);
  static double modelled_seconds(const Case& shape, const FlopCount& flops, const Cell& cell);
  static double modelled_fill_seconds(const Case& shape, const Cell& cell);
  static std::string key(const Case& shape, const Cell& cell);

  Corrections forward_;  ///< by backend, formulation, numbers and ranks
  Corrections fill_;     ///< likewise
  Corrections setup_;    ///< by backend
};

}  // namespace headroom::plan
