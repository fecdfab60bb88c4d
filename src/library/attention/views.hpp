// Checks of the caller's views before `forward` touches them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/addresses.hpp"
#include "headroom/export.h"
#include "headroom/view.hpp"

namespace headroom {

/// The sizes that a call has.
struct ViewSizes {
  std::int64_t rows = 0;
  std::int64_t x_cols = 0;
  std::int64_t y_cols = 0;
};

/// @throws InvalidArgument naming the view: a wrong size, a row stride below the width or beyond
/// any
///         memory, values of a row that do not lie side by side, a null pointer, or overlapping
///         views.
HEADROOM_API void check_views(const ConstAnyMatrix& x, const ConstAnyMatrix& y,
                              const ViewSizes& sizes);

/// The same for a single view, such as the second input.
void check_view(std::string_view name, const ConstAnyMatrix& view, std::int64_t rows,
                std::int64_t cols);

/// @throws InvalidArgument if y shares memory with another view of any number of rows.
HEADROOM_API void check_apart(std::string_view name, const ConstAnyMatrix& other,
                              const ConstAnyMatrix& y);

/// The same of memory of any form.
HEADROOM_API void check_apart(std::string_view name, const void* data, std::int64_t bytes,
                              const ConstAnyMatrix& y);

}  // namespace headroom
