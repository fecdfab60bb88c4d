// The caller's mask, checked, and as kernels read it.
#pragma once

#include <cstdint>

#include "core/call/score_mask.hpp"
#include "headroom/dot_product.hpp"

namespace headroom {

/// @throws InvalidArgument naming the mask: two kinds of values, sizes that are neither those of
///         q and `keys` nor 1, strides that are negative or reach beyond any memory, memory of the
///         output.
void check_mask(const MaskView& mask, const ConstAnyHeads& q, std::int64_t keys,
                const ConstAnyHeads& out);

/// With strides of 0 where one value is for all.
ScoreMask score_mask(const MaskView& mask);

}  // namespace headroom
