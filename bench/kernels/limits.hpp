// The limits that kernels are held against, measured once in this run and only when asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/isa.hpp"

namespace headroom::bench {

/// FMA peak in GFLOP/s.
double fma_peak(Isa isa, int threads);

/// Read bandwidth from memory in GB/s.
double read_bandwidth(int threads);

/// One kernel under test: who computes it, on which level, with how many threads.
struct Contestant {
  std::string backend;
  Isa isa = Isa::sse42;
  int threads = 1;

  /// Such as `tbb/avx512/t2`.
  std::string id() const;
};

/// Every available backend with every level and thread count that changes anything for it.
std::vector<Contestant> contestants();

/// Threads to measure with: one, and all that this process may use.
std::vector<int> thread_counts();

/// Adds the rows of the limits themselves.
void register_limits();

/// Adds the rows of the projection, of attention, and of the element-wise kernels.
void register_project();
void register_attend();
void register_elementwise();

}  // namespace headroom::bench
