// Checks of the caller's views before `forward` touches them.
#pragma once

#include <cstdint>

#include "headroom/view.hpp"

namespace headroom {

/// The sizes that a layer takes.
struct ViewSizes {
  std::int64_t rows = 0;
  std::int64_t x_cols = 0;
  std::int64_t y_cols = 0;
};

/// @throws InvalidArgument naming the view: a wrong size, a stride below the width or beyond any
///         memory, a null pointer, or overlapping views.
void check_views(const ConstMatrixView& x, const ConstMatrixView& y, const ViewSizes& sizes);

}  // namespace headroom
