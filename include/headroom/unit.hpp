/// @file
/// Units that multiply narrow parts of numbers, and the pair of a level and such a unit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"
#include "headroom/isa.hpp"

namespace headroom {

/// Who multiplies the parts of precisions other than f32. A unit is no level: f32 products run on
/// the vectors of their level whichever unit there is.
enum class Unit {
  none,         ///< nobody: f32 vectors compute it instead
  avx512_bf16,  ///< pairs of bfloat16 in AVX-512 vectors
  amx,          ///< tiles of bfloat16 (AMX), beside AVX-512
  emulated,     ///< the bits of tiles, computed by the vectors of any level: for tests, and slow
};

/// `"none"`, `"avx512_bf16"`, `"amx"` or `"emulated"`.
HEADROOM_API std::string_view to_string(Unit unit);

/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<Unit> parse_unit(std::string_view name);

/// The names of all units, for messages.
HEADROOM_API const std::vector<std::string>& unit_names();

/// Units that this machine has for code of a level, slowest first, `emulated` and `none` among
/// them. The last one is used where none is asked for. Facts decide (CPUID, the registers that the
/// system saves, its permission): no instruction is tried and no process is started.
HEADROOM_API std::vector<Unit> available_units(Isa isa);

/// The unit to use: `requested` if given, else the environment variable `HEADROOM_UNIT` if it is
/// set and not empty, else the fastest available.
/// @throws Unavailable if the request or the variable names one that is unknown, or that this
///         machine or this level lacks; there is no silent fallback.
HEADROOM_API Unit select_unit(Isa isa, std::optional<Unit> requested = std::nullopt);

/// What code runs on.
struct Target {
  Isa isa = Isa::sse42;
  Unit unit = Unit::none;

  bool operator==(const Target&) const = default;
};

/// `select_isa`, then `select_unit` for that level.
/// @throws Unavailable as they do.
HEADROOM_API Target select_target(std::optional<Isa> isa = std::nullopt,
                                  std::optional<Unit> unit = std::nullopt);

/// Every level of this machine, lowest first, with the unit that `select_unit` gives there. Where
/// a unit is forced that only higher levels have, lower ones have none.
/// @throws Unavailable if no level has the forced unit, or it is unknown.
HEADROOM_API std::vector<Target> available_targets(std::optional<Unit> unit = std::nullopt);

}  // namespace headroom
