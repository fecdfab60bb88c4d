// The limits of the hardware as measured, not as promised.
#pragma once

#include <cstdint>
#include <functional>

namespace headroom::machine {

/// Fused multiply-adds in registers alone; returns the floating-point operations done.
using FmaKernel = double (*)(std::int64_t iterations, float* sink);

/// The highest rate that was sustained: of several rounds of repetitions the round with the best
/// median. A median, so that one lucky sample does not set the limit; the best of several rounds,
/// so that a disturbed one does not lower it below what a layer then reaches.
/// @return GFLOP/s of `threads` threads together.
double measure_fma_peak(int threads, FmaKernel kernel);

/// The same for reading memory: every thread sums its share of a buffer several times larger than
/// the last-level cache.
/// @param max_bytes the buffer is not made larger than this.
/// @return GB/s (1e9 bytes) of `threads` threads together.
double measure_read_bandwidth(int threads, std::int64_t last_level_bytes, std::int64_t max_bytes);

}  // namespace headroom::machine
