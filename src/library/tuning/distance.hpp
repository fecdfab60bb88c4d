// How different two shapes are, as far as the choice of a backend is concerned.
#pragma once

#include "core/case.hpp"
#include "headroom/export.h"

namespace headroom::tuning {

/// In doublings: twice the tokens, or twice all widths, is a distance of 1. It is the square root
/// of the sum, over the sizes, of a weight times the squared difference of their binary logarithms.
/// The weights are 3/4 for rows `B * T` and 1/4 for the keys that a row sees at most, which are the
/// tokens where there is no past and no window (together one doubling), 1/3 each for `d_in`,
/// `d_out` and the output width, and 1/4 each for heads at equal width and for heads per key head.
/// A mask or an output projection that only one of the two has counts as one doubling, dropout as
/// three, a bias of query, key and value as a tenth, and a layer is far from attention over heads
/// that are given.
HEADROOM_API double distance(const Case& a, const Case& b);

}  // namespace headroom::tuning
