// What the machine did beside the program: the control kernel, and one layer timed twice.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headroom/isa.hpp"
#include "machine/peak.hpp"

namespace headroom::sweep {

struct CellResult;

/// Multiply-adds taken right before and after each sample, on as many threads. Whole runs on a
/// shared machine shift against each other while the samples of one stay close together; the
/// control shifts with them.
struct Control {
  std::string isa;  ///< of the control kernel, which need not be the cell's
  int threads = 1;
  std::vector<double> gflops;  ///< one a sample
};

/// The same layer timed a second time, interleaved with the first (A/A).
struct Again {
  double ratio = 1;  ///< of the medians, second / first, each divided by its control
  std::vector<double> samples;
  std::vector<double> control;  ///< GFLOP/s, one a sample; empty without a control
};

/// The control kernel on any number of threads, started when first asked for.
class ControlMeters {
 public:
  explicit ControlMeters(machine::FmaKernel kernel) : kernel_(kernel) {}
  /// @return GFLOP/s just now, or nothing to call without a kernel.
  std::function<double()> reader(int threads);

 private:
  machine::FmaKernel kernel_;
  std::map<int, std::unique_ptr<machine::FmaMeter>> meters_;
};

/// Samples in operations that the control would have done meanwhile (1e9), which is what repeats
/// from run to run. The times as they are if the control has not a reading for each.
std::vector<double> steadied(const std::vector<double>& seconds,
                             const std::vector<double>& control);

/// Whether the two were measured against the same control, so that `steadied` ones compare.
bool same_control(const CellResult& a, const CellResult& b);

/// The share of the multiply-add rate taken beside each sample; its median over the samples.
/// @pre a reading for each sample.
double share_of_control(double flops, const std::vector<double>& seconds,
                        const std::vector<double>& control);

/// The widest part of a list that is not its outer tenths, over its median: how far it scatters.
double scatter(const std::vector<double>& values);

/// Why a time cannot be: it is above 100 % of the FMA rate taken beside it, by more than that rate
/// itself scatters. Empty if all is well.
std::string beyond_peak(const CellResult& result);

struct NoiseFloor {
  double floor = 0;       ///< 95th percentile of |ratio - 1|; for few shapes the largest
  std::size_t count = 0;  ///< shapes that had a layer timed twice
};

/// From the A/A pairs among the results; nothing if there are none.
std::optional<NoiseFloor> noise_floor(const std::vector<CellResult>& results);

/// How far the control moved over a sweep, on one number of threads; shares of its median.
struct ControlDrift {
  int threads = 1;
  double gflops = 0;   ///< median over the cells
  double between = 0;  ///< from the slowest cell to the fastest
  double within = 0;   ///< median over the cells of how far the readings beside one scatter
};

/// By number of threads; empty without a control.
std::vector<ControlDrift> control_drift(const std::vector<CellResult>& results);

/// For people: how much the control moved, a line for each number of threads, and the noise floor.
std::string noise_lines(const std::vector<CellResult>& results);

}  // namespace headroom::sweep
