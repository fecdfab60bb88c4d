// The control kernel's readings beside the samples of a cell.
#pragma once

#include <string>
#include <vector>

namespace headroom::record {

/// The rates of multiply-adds and of register tiles right before and after each sample, on equally
/// many threads. On a shared machine whole runs drift apart while the samples of one run stay close
/// together. The multiply-adds drift with them; the tiles are the roof of a product.
struct Control {
  std::string isa;  ///< of the control kernel, which need not be the cell's
  int threads = 1;
  std::vector<double> gflops;  ///< one per sample
  /// Clock of its threads right after each reading; one per sample, or empty if unknown.
  std::vector<double> clock_ghz = {};
  /// Multiply-adds of a register tile with its operands in the L1; one per sample, or empty if
  /// unknown.
  std::vector<double> tile_gflops = {};
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

/// The median, over the samples, of the share of the rate measured beside each.
/// @param gflops those rates. @pre one per sample
double share_of_rates(double flops, const std::vector<double>& seconds,
                      const std::vector<double>& gflops);

}  // namespace headroom::record
