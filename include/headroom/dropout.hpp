/// @file
/// The dropout pattern: a pure function of seed and position, so that it is the same for every
/// backend, formulation, thread count and instruction set.
#pragma once

#include <array>
#include <cstdint>

#include "headroom/export.h"

namespace headroom {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11).
HEADROOM_API std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                     std::array<std::uint32_t, 2> key);

/// The index of a row in the pattern: the same for every number of tokens.
/// @param head `b * heads + h`; @param position of the row in its sequence, below 2^32
constexpr std::uint64_t dropout_row(std::int64_t head, std::int64_t position) {
  return (static_cast<std::uint64_t>(head) << 32U) + static_cast<std::uint64_t>(position);
}

/// Which attention weights of one layer are kept, and the factor that scales them.
/// Weight `(row, column)` of head `h` in sequence `b` takes lane `column % 4` of the block whose
/// low 64-bit counter is `column / 4` and whose high one is `dropout_row(b * heads + h, row)`. Rows
/// and columns are positions in the sequence, whatever part of it a call computes.
struct HEADROOM_API DropoutPattern {
  double probability = 0;
  std::uint64_t seed = 0;

  /// Writes the factor of each of `count` weights from column `first_column` on: 0 where dropped,
  /// `1 / (1 - probability)` where kept.
  /// @param row_index as `dropout_row` gives it
  void factors(std::uint64_t row_index, std::int64_t first_column, std::int64_t count,
               float* out) const;
};

}  // namespace headroom
