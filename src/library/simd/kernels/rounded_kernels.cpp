// The kernels of one level that attend over keys and values in eight bits; compiled once per level,
// see cmake/HeadroomIsa.cmake.

#include "simd/kernels/attend_kernel.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

extern const RoundedKernels kRoundedKernels;
const RoundedKernels kRoundedKernels{attend<std::int8_t>};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
