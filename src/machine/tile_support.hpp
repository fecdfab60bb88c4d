// Whether this process can use the tile unit of its processor (AMX).
#pragma once

#include <cstdint>
#include <string>

#include "headroom/export.h"

namespace headroom {

/// What was found out, in the order in which it matters.
struct TileFacts {
  bool tiles = false;          ///< CPUID: tiles at all
  bool bf16 = false;           ///< CPUID: products of bfloat16 tiles
  std::uint64_t enabled = 0;   ///< XCR0: registers that the operating system saves
  std::uint32_t palettes = 0;  ///< CPUID leaf 1DH; some hypervisors report none
  int permission = 0;          ///< errno of asking the kernel for them, 0 if it agreed
  int probe = 0;               ///< wait status of a child process that multiplied two tiles
};

/// Why tiles cannot be used; empty if they can.
std::string why_no_tiles(const TileFacts& facts);

struct TileSupport {
  bool available = false;
  bool emulated = false;  ///< the environment variable HEADROOM_TILES asks for it, for tests
  std::string reason;     ///< why not available, or why emulated; empty otherwise
};

/// Found out at the first call: asks the kernel for the permission that a process needs, and lets a
/// child process try one product, because no flag promises that it does not crash.
HEADROOM_API const TileSupport& tile_support();

}  // namespace headroom
