// Checks of the caller's views before `forward` touches them.
#pragma once

#include <cstdint>
#include <string_view>

#include "headroom/view.hpp"

namespace headroom {

/// The sizes that a call has.
struct ViewSizes {
  std::int64_t rows = 0;
  std::int64_t x_cols = 0;
  std::int64_t y_cols = 0;
};

/// @throws InvalidArgument naming the view: a wrong size, a stride below the width or beyond any
///         memory, a null pointer, or overlapping views.
void check_views(const ConstMatrixView& x, const ConstMatrixView& y, const ViewSizes& sizes);

/// The same for a single view, such as the second input.
void check_view(std::string_view name, const ConstMatrixView& view, std::int64_t rows,
                std::int64_t cols);

/// @throws InvalidArgument if y shares memory with another view of any number of rows.
void check_apart(std::string_view name, const ConstMatrixView& other, const ConstMatrixView& y);

}  // namespace headroom
