#include "simd/xsimd_version.hpp"

#include <fmt/format.h>

#include <xsimd/config/xsimd_config.hpp>

namespace headroom::simd {

std::string xsimd_version() {
  return fmt::format("xsimd {}.{}.{}", XSIMD_VERSION_MAJOR, XSIMD_VERSION_MINOR,
                     XSIMD_VERSION_PATCH);
}

}  // namespace headroom::simd
