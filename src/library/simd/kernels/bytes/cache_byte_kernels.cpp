// The kernels of one level that attend over a cache in eight bits by products of bytes; compiled
// once per level, and once more for processors that multiply four of them in one instruction, see
// cmake/HeadroomIsa.cmake.

#include "simd/kernels/attend_kernel.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

extern const RoundedKernels kCacheByteKernels;
const RoundedKernels kCacheByteKernels{attend<CacheByte>};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
