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

/// Which attention weights of one layer are kept, and the factor that scales them.
/// Weight `(row, column)` of head `h` in sequence `b` takes lane `column % 4` of the block whose
/// low 64-bit counter is `column / 4` and whose high one is `(b * heads + h) * tokens + row`.
struct HEADROOM_API DropoutPattern {
  double probability = 0;
  std::uint64_t seed = 0;

  /// Writes the factor of each of `count` weights from column `first_column` on: 0 where dropped,
  /// `1 / (1 - probability)` where kept.
  /// @param row_index `(b * heads + h) * tokens + row`
  void factors(std::uint64_t row_index, std::int64_t first_column, std::int64_t count,
               float* out) const;
};

}  // namespace headroom
