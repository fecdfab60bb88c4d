// Checks of the caller's views before `forward` touches them.
#pragma once

#include <cstdint>
#include <string_view>

#include "headroom/export.h"
#include "headroom/precision.hpp"
#include "headroom/view.hpp"

namespace headroom {

/// The largest user address space of any processor we know (x86-64 with five levels of page
/// tables). A pointer below that plus a span below it cannot wrap either.
inline constexpr std::int64_t kMostAddresses = std::int64_t{1} << 56;

/// The sizes that a call has.
struct ViewSizes {
  std::int64_t rows = 0;
  std::int64_t x_cols = 0;
  std::int64_t y_cols = 0;
};

/// A view of values of any type, whose strides count them.
struct AnyView {
  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor): a view is a view
  AnyView(const BasicMatrixView<T>& view)
      : data(view.data),
        rows(view.rows),
        cols(view.cols),
        row_stride(view.row_stride),
        element_bytes(sizeof(T)) {}

  const void* data;
  std::int64_t rows, cols, row_stride;
  std::int64_t element_bytes;
};

/// @throws InvalidArgument naming the view: a wrong size, a stride below the width or beyond any
///         memory, a null pointer, or overlapping views.
HEADROOM_API void check_views(const AnyView& x, const AnyView& y, const ViewSizes& sizes);

/// The same for a single view, such as the second input.
void check_view(std::string_view name, const AnyView& view, std::int64_t rows, std::int64_t cols);

/// @throws InvalidArgument if y shares memory with another view of any number of rows.
HEADROOM_API void check_apart(std::string_view name, const AnyView& other, const AnyView& y);

}  // namespace headroom
