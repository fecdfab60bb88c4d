// Matrices as the caller has them become floats.
#pragma once

#include "headroom/export.h"
#include "headroom/view.hpp"

namespace headroom {

/// Copies all values. Every f16 and bf16 keeps its value.
/// @param to as many rows and columns; no overlap
HEADROOM_API void read_matrix(const ConstAnyMatrix& from, MatrixView to);

}  // namespace headroom
