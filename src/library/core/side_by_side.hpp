// Several matrices treated as one, their columns side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "headroom/export.h"
#include "headroom/view.hpp"

namespace headroom {

/// Total columns of all parts.
HEADROOM_API std::int64_t total_cols(const std::vector<ConstMatrixView>& parts);

/// All parts as one matrix without gaps. @param parts matrices of equal depth, at least one
HEADROOM_API AlignedBuffer side_by_side(const std::vector<ConstMatrixView>& parts);

/// The biases of all parts, padded with zeros to `size`. @param biases one per part
/// @pre `size` is at least `total_cols(parts)`.
HEADROOM_API AlignedBuffer end_to_end(const std::vector<const float*>& biases,
                                      const std::vector<ConstMatrixView>& parts, std::int64_t size);

}  // namespace headroom
