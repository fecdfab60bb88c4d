// What decides which units this process can use, and the trial that decides nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/export.h"
#include "headroom/unit.hpp"

namespace headroom {

/// What was found out about the tile unit (AMX), in the order in which it matters.
struct TileFacts {
  bool tiles = false;          ///< CPUID: tiles at all
  bool bf16 = false;           ///< CPUID: products of bfloat16 tiles
  std::uint64_t enabled = 0;   ///< XCR0: registers that the operating system saves
  std::uint32_t palettes = 0;  ///< CPUID leaf 1DH; some hypervisors report none
  int permission = 0;          ///< errno of asking the kernel for them, 0 if it agreed
};

struct UnitFacts {
  bool avx512_bf16 = false;  ///< CPUID, and the system saves the registers
  TileFacts tiles;
  /// One instruction multiplies four bytes: AVX512_VNNI, as the first, or the dot products of NEON,
  /// as the kernel announces them. No unit of its own, as it changes no bit.
  bool byte_dots = false;
};

/// Those of this process, found out at the first call. It asks the kernel for the permission that a
/// process needs for tiles, and starts nothing.
HEADROOM_API const UnitFacts& unit_facts();

/// Why code of a level cannot use a unit; empty if it can.
HEADROOM_API std::string why_no_unit(Unit unit, Isa isa, const UnitFacts& facts);

/// As `available_units`, for other facts than this machine's.
HEADROOM_API std::vector<Unit> units_of(Isa isa, const UnitFacts& facts);

}  // namespace headroom
