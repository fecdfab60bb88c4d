// The rows of headroom-kernels, each timed beside the limit of the hardware.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headroom/precision.hpp"
#include "headroom/unit.hpp"

namespace headroom::bench {

/// What computes a kernel: a backend, its level and unit, and its number of threads.
struct Contestant {
  std::string backend;
  Target target = {};
  int threads = 1;
  Precision precision = Precision::f32;

  /// Such as `tbb/avx512/t2` or `tbb/avx512/amx/bf16/t2`.
  std::string id() const;
};

/// Thread counts to measure: one, and all that this process may use.
std::vector<int> thread_counts();

/// A kernel that is set up, and has run once to check its result.
struct Prepared {
  std::function<void()> run;
  std::string refusal;  ///< why it must not be timed, or empty
};

/// One line of output.
struct Row {
  std::string name;
  Target target = {};
  int threads = 1;
  Precision precision = Precision::f32;
  double flops = 0;  ///< per run; gives `gflops`, `peak_share` and `tile_share`, unless 0
  double bytes = 0;  ///< read from memory per run; gives `read_share`, unless 0
  std::function<Prepared()> prepare;
};

/// Registers the row. It is prepared when it first runs and then kept for its repetitions. Each
/// repetition measures its limits immediately before and after its own loop, because the clock of a
/// shared machine drifts by more than kernels differ. So shares are ratios within about 100 ms.
void add_row(Row row);

/// Adds one row per contestant, except where plain loops would take minutes.
void add_rows(const std::function<Row(const Contestant&)>& row_of);

/// Adds the rows of the limits themselves.
void register_limits();

/// Adds the rows of the projection, of attention, and of the element-wise kernels.
void register_project();
void register_attend();
void register_elementwise();

}  // namespace headroom::bench
