// Name and version of the xsimd that the kernels were built with.
#pragma once

#include <string>

namespace headroom::simd {

std::string xsimd_version();

}  // namespace headroom::simd
