// Several matrices treated as one, their columns side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "headroom/export.h"
#include "headroom/view.hpp"

namespace headroom {

/// Total columns of all parts.
HEADROOM_API std::int64_t total_cols(const std::vector<ConstAnyMatrix>& parts);

/// All parts as one matrix of floats without gaps. @param parts of equal depth, at least one
HEADROOM_API AlignedBuffer side_by_side(const std::vector<ConstAnyMatrix>& parts);

/// The same of biases, padded with zeros to `size`. @param biases of one row each
/// @pre `size` is at least `total_cols(biases)`.
HEADROOM_API AlignedBuffer end_to_end(const std::vector<ConstAnyMatrix>& biases, std::int64_t size);

}  // namespace headroom
