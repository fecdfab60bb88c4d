// The caller's mask, checked, and as kernels read it.
#pragma once

#include <cstdint>

#include "core/call/score_mask.hpp"
#include "headroom/export.h"
#include "headroom/mask_view.hpp"

namespace headroom {

/// What a mask is for. In each direction it has so many values, or one for all.
struct MaskSizes {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
};

/// Where a mask lies; no bytes if there is none.
struct MaskMemory {
  const void* data = nullptr;
  std::int64_t bytes = 0;
};

/// @param function that was called, as messages name it
/// @throws InvalidArgument naming the mask: two kinds of values, other sizes, strides that are
///         negative or reach beyond any memory.
HEADROOM_API MaskMemory check_mask(const char* function, const MaskView& mask,
                                   const MaskSizes& sizes);

/// @pre `check_mask` has passed. @throws InvalidArgument naming the first NaN
void check_mask_values(const char* function, const MaskView& mask);

/// Of some heads of a mask that has a value for each.
HEADROOM_API MaskView mask_of_heads(const MaskView& mask, std::int64_t first, std::int64_t count);

/// With strides of 0 where one value is for all.
ScoreMask score_mask(const MaskView& mask);

}  // namespace headroom
