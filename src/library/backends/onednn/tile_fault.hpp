// Versions of oneDNN whose products by the tile unit (AMX) can end the process.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <tuple>

#include "backends/onednn/dnnl_compat.hpp"
#include "headroom/unit.hpp"

namespace headroom::onednn {

struct Version {
  int major = 0, minor = 0, patch = 0;

  friend constexpr bool operator<(const Version& a, const Version& b) {
    return std::tie(a.major, a.minor, a.patch) < std::tie(b.major, b.minor, b.patch);
  }
};

/// Of the library that this process has loaded.
Version library_version();

/// Whether a version can end the process with SIGILL while it multiplies bf16 by tiles. Tiles are
/// configured anew where their size changes, but for the rest of the depth these versions compare
/// its size with that of a block of the depth, and with nothing else. A rest of 31 is rounded up to
/// a whole block of 32, so that the last rows or columns, which are fewer, meet tiles that are too
/// large for them (oneDNN's issue 1661, mended in 2.7.4 and 3.1).
///
/// This is asked of the version alone. In attention the depth is the number of keys, which every
/// call chooses anew, so no shape of a layer is safe; and what other sizes do cannot be tried
/// without such a processor.
constexpr bool has_tile_fault(Version version) {
  return version < Version{2, 7, 4} || (version.major == 3 && version.minor == 0);
}

/// The most that the library may use of a processor on the machine's highest level. It multiplies
/// bf16 with AVX512_BF16 where its tiles cannot be trusted.
constexpr dnnl::cpu_isa most_instructions(Version version) {
  return has_tile_fault(version) ? dnnl::cpu_isa::avx512_core_bf16 : kNoIsaLimit;
}

/// The unit that a version multiplies bf16 with where one is wanted, of those that are here.
constexpr Unit unit_without_fault(Unit wanted, std::span<const Unit> here, Version version) {
  if (wanted != Unit::amx || !has_tile_fault(version)) return wanted;
  const bool other = std::find(here.begin(), here.end(), Unit::avx512_bf16) != here.end();
  return other ? Unit::avx512_bf16 : Unit::none;
}

/// Why bf16 is refused where the library uses `in_use` all the same; empty if it is not.
std::string tile_fault_of(Version version, dnnl::cpu_isa in_use);

}  // namespace headroom::onednn
