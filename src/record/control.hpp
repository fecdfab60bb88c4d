// The control kernel's readings beside the samples of a cell.
#pragma once

#include <string>
#include <vector>

namespace headroom::record {

/// The rate of multiply-adds right before and after each sample, on equally many threads. On a
/// shared machine whole runs drift apart while the samples of one run stay close together. The
/// control drifts with them.
struct Control {
  std::string isa;  ///< of the control kernel, which need not be the cell's
  int threads = 1;
  std::vector<double> gflops;  ///< one per sample
  /// Clock of its threads right after each reading; one per sample, or empty if unknown.
  std::vector<double> clock_ghz = {};
};

/// The same layer timed a second time, interleaved with the first (A/A).
struct Again {
  double ratio = 1;  ///< of the medians, second / first, each corrected by its control
  std::vector<double> samples;
  std::vector<double> control;      ///< GFLOP/s, one per sample; empty without a control
  std::vector<int> processes = {};  ///< which process took each sample; empty if one took all
};

/// Samples in units of the operations that the control would have done in that time (1e9). These
/// repeat from run to run. Without one reading per sample the times are returned unchanged.
std::vector<double> steadied(const std::vector<double>& seconds,
                             const std::vector<double>& control);

/// The median, over the samples, of the share of the multiply-add rate measured beside each.
/// @pre one reading per sample.
double share_of_control(double flops, const std::vector<double>& seconds,
                        const std::vector<double>& control);

}  // namespace headroom::record
