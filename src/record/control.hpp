// The control kernel's readings beside the samples of a cell.
#pragma once

#include <string>
#include <vector>

namespace headroom::record {

/// Multiply-adds taken right before and after each sample, on as many threads. Whole runs on a
/// shared machine shift against each other while the samples of one stay close together; the
/// control shifts with them.
struct Control {
  std::string isa;  ///< of the control kernel, which need not be the cell's
  int threads = 1;
  std::vector<double> gflops;  ///< one per sample
  /// Of its threads, right after each reading; one per sample, or none where nothing tells it.
  std::vector<double> clock_ghz = {};
};

/// The same layer timed a second time, interleaved with the first (A/A).
struct Again {
  double ratio = 1;  ///< of the medians, second / first, each divided by its control
  std::vector<double> samples;
  std::vector<double> control;  ///< GFLOP/s, one a sample; empty without a control
};

/// Samples in operations that the control would have done meanwhile (1e9), which is what repeats
/// from run to run. The times as they are if the control has not a reading for each.
std::vector<double> steadied(const std::vector<double>& seconds,
                             const std::vector<double>& control);

/// The share of the multiply-add rate taken beside each sample; its median over the samples.
/// @pre a reading for each sample.
double share_of_control(double flops, const std::vector<double>& seconds,
                        const std::vector<double>& control);

}  // namespace headroom::record
