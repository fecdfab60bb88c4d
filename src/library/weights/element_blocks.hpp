// Values that are stored in blocks with scales of their own, as ggml's types have them.
#pragma once

#include <span>

#include "weights/element.hpp"

namespace headroom::weights {

/// Converts `out.size()` values, whole blocks of them.
/// @pre `type` has blocks
void expand_blocks(Element type, std::span<const char> bytes, std::span<float> out);

}  // namespace headroom::weights
