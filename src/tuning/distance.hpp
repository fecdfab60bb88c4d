// How unlike two shapes are, as far as the choice of a backend goes.
#pragma once

#include "headroom/export.h"
#include "headroom/shape.hpp"

namespace headroom::tuning {

/// In doublings: twice the tokens, or twice all widths, is 1 away. The root of the sum, over the
/// sizes, of a weight times the squared difference of their binary logarithms: rows `B * T` 3/4 and
/// tokens 1/4 (together one doubling); `d_in`, `d_out` and the width of the output 1/3 each; heads
/// at equal width 1/4. A mask, or an output projection, that only one of the two has counts as one
/// doubling, dropout as three, a bias of query, key and value as a tenth.
HEADROOM_API double distance(const Shape& a, const Shape& b);

}  // namespace headroom::tuning
