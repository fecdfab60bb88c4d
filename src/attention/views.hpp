// What `forward` asks of the caller's views before it touches them.
#pragma once

#include <cstdint>

#include "headroom/view.hpp"

namespace headroom {

/// What a layer takes.
struct ViewSizes {
  std::int64_t rows = 0;
  std::int64_t x_cols = 0;
  std::int64_t y_cols = 0;
};

/// @throws InvalidArgument naming the view: another size, a stride below the width or beyond any
///         memory, a null pointer, or values that both views share.
void check_views(const ConstMatrixView& x, const ConstMatrixView& y, const ViewSizes& sizes);

}  // namespace headroom
