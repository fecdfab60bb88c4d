// How a product streams its operands, as data. No choice changes a bit of a result: every element
// stays one chain of multiply-adds over the depth.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "headroom/isa.hpp"

namespace headroom::simd {

/// How far ahead a tile prefetches its panel.
enum class Prefetch : std::uint8_t {
  none,
  near,  ///< 16 steps, into the L1: for panels that lie in the L2
  far,   ///< 64 steps, into the L2: for panels from beyond it, because hardware prefetchers stop at
         ///< the end of each page
};

struct ProjectVariant {
  std::string_view name;
  Prefetch next = Prefetch::far;  ///< of the row tiles after the first that passes over a panel
  bool pack_late = false;  ///< rows are packed right before their tile's first use, not all first
  /// Whether a tile prefetches its rows of y, and the next one's of x and sums; in attention its
  /// output, and the next one's queries.
  bool prefetches = false;
  int tiles_per_task = 12;  ///< 12 x 14 rows x 768 floats are 504 KiB of packed rows in the L2
  int tasks_per_slot = 8;   ///< on several slots; more balance better, fewer pack x less often
};

/// The variants of a level, at least one.
std::span<const ProjectVariant> project_variants(Isa isa);

/// Null for an unknown name.
const ProjectVariant* find_project_variant(Isa isa, std::string_view name);

/// What the first choice of a variant goes by.
struct CoreFacts {
  double multiply_adds_per_cycle = 0;  ///< vectors of the level; 0: unknown
  std::int64_t l2_bytes = 0;           ///< 0: unknown

  /// Whether it does two multiply-adds a cycle.
  bool does_two() const { return multiply_adds_per_cycle >= 1.5; }
};

/// What is best where nothing was measured on this machine; reports/speed-journal.md has the
/// figures.
const ProjectVariant& first_choice(Isa isa, const CoreFacts& core);

/// What attention prefetches.
struct AttendPrefetches {
  bool rows = false;     ///< see ProjectVariant::prefetches
  bool into_l1 = false;  ///< keys and values that few rows stream; else into the L2
};

/// Whether keys and values that few rows stream are best prefetched into the L1.
/// @param l1_bytes, l2_bytes of a core; 0: unknown
bool streams_into_l1(Isa isa, std::int64_t l1_bytes, std::int64_t l2_bytes);

}  // namespace headroom::simd
