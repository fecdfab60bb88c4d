/// @file
/// Instruction-set levels that the SIMD kernels are compiled for and chosen from at run time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"

namespace headroom {

/// What f32 code is compiled for. One binary contains every level of its processor family. What
/// multiplies narrower numbers is a matter of its own, see `Unit`.
enum class Isa {
  sse42,   ///< x86-64 with SSE4.2
  avx2,    ///< AVX2 and FMA
  avx512,  ///< AVX-512 F, BW, CD, DQ, VL
  neon,    ///< aarch64 Advanced SIMD
};

/// `"sse4.2"`, `"avx2"`, `"avx512"` or `"neon"`.
HEADROOM_API std::string_view to_string(Isa isa);

/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<Isa> parse_isa(std::string_view name);

/// Levels that both this binary and this processor have, lowest first. The operating system's
/// support for the wide registers is part of the test.
HEADROOM_API std::vector<Isa> available_isas();

/// The level to use: `requested` if given, else the environment variable `HEADROOM_ISA` if it is
/// set and not empty, else the highest available.
/// @throws Unavailable if the requested level or the variable names one that is unknown or that
///         this machine lacks; there is no silent fallback.
HEADROOM_API Isa select_isa(std::optional<Isa> requested = std::nullopt);

}  // namespace headroom
