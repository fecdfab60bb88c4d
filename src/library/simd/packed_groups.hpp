// A panel of weights in few bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headroom/storage.hpp"
#include "headroom/view.hpp"

namespace headroom::simd {

/// Some columns of matrices that stand side by side.
struct PanelColumns {
  const std::vector<ConstAnyMatrix>& parts;
  std::int64_t first = 0;
  std::int64_t width = 0;  ///< of the panel, one vector or two; may be beyond the last column
};

/// How the values of a group lie.
enum class GroupOrder {
  /// For products of floats. Values of eight bits are rows of the depth. Of four bits each column
  /// has a word for eight rows, the first row in its lowest bits; words of the same rows are
  /// neighbours. All are in two's complement.
  rows,
  /// For products of bytes: each column has words for rows that are a quarter of a group apart, one
  /// in each byte; of four bits two such, the upper ones an eighth of a group later. Values have no
  /// sign: they are 128 more, or 8.
  words,
};

/// Writes the panel: for each group of the depth the scales of its columns, then its values.
void pack_groups(Storage storage, GroupOrder order, const PanelColumns& columns, std::byte* to);

}  // namespace headroom::simd
