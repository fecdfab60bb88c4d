// The kernels of one level that read bfloat16; compiled once per level, see
// cmake/HeadroomIsa.cmake. Apart from the others because they take the compiler as long.

#include "simd/kernels/attend_kernel.hpp"
#include "simd/kernels/pack_keys.hpp"
#include "simd/kernels/projection/project_kernel.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

extern const StoredKernels kHalfKernels;
const StoredKernels kHalfKernels{project<Half>, attend<Half>, pack_keys<Half>, copy_values<Half>};

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
