// Where query, key and value lie between the two operations.
#pragma once

#include <array>
#include <cstdint>

#include "attention/formulation.hpp"
#include "core/head_view.hpp"

namespace headroom {

/// Blocks of one head each.
struct HeadBlocks {
  std::array<BlockedView, 3> parts;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;

  /// Blocks of one part, or of several where they lie evenly one after the other.
  BlockedView slice(const PlannedProduct& product) const;
};

}  // namespace headroom
