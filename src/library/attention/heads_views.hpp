// Checks of the caller's views of heads before a call touches them.
#pragma once

#include "headroom/dot_product.hpp"

namespace headroom {

/// @throws InvalidArgument naming the view: sizes that do not fit each other, null pointers,
///         strides that are negative or reach beyond any memory, an output that overlaps itself or
///         another view.
void check_heads(const ConstHeadsView& q, const ConstHeadsView& k, const ConstHeadsView& v,
                 const HeadsView& out);

}  // namespace headroom
