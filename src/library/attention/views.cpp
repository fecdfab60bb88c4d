#include "attention/views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "headroom/error.hpp"

namespace headroom {
namespace {

// @pre the stride is not below the width.
bool fits_in_addresses(const ConstAnyMatrix& view) {
  const std::int64_t most = kMostAddresses / size_of(view.dtype);
  if (view.cols > most) return false;
  return view.rows <= 1 || view.row_stride <= (most - view.cols) / (view.rows - 1);
}

// In bytes, so that views at odd addresses are compared exactly, too.
struct Span {
  explicit Span(const ConstAnyMatrix& view)
      : begin(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.data))),
        width(view.cols * size_of(view.dtype)),
        stride(view.rows > 1 ? view.row_stride * size_of(view.dtype) : width),
        end(begin + (view.rows - 1) * stride + width) {}

  std::int64_t begin, width, stride, end;
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Rows of one stride: row `i + k` of y shares values with row `i` of x where y's offset from x plus
// `k` strides lies between -(width of y) and the width of x, exclusive.
bool rows_meet(const Span& x, const Span& y, std::int64_t rows) {
  const std::int64_t offset = y.begin - x.begin;
  const std::int64_t first = floor_divide(-y.width - offset, x.stride) + 1;
  const std::int64_t last = floor_divide(x.width - offset - 1, x.stride);
  return std::max(first, 1 - rows) <= std::min(last, rows - 1);
}

// Views with different strides nearly always overlap if their spans do, so the spans decide.
void check_disjoint(const ConstAnyMatrix& x, const ConstAnyMatrix& y) {
  if (x.rows == 0) return;
  const Span of_x(x);
  const Span of_y(y);
  if (of_x.begin >= of_y.end || of_y.begin >= of_x.end) return;
  if (of_x.stride == of_y.stride && !rows_meet(of_x, of_y, x.rows)) return;
  throw InvalidArgument(
      fmt::format("forward: y overlaps x (row strides {} and {}); give y memory of its own, or "
                  "other columns of rows of the same stride",
                  y.row_stride, x.row_stride));
}

}  // namespace

void check_view(std::string_view name, const ConstAnyMatrix& view, std::int64_t rows,
                std::int64_t cols) {
  if (view.rows != rows || view.cols != cols) {
    throw InvalidArgument(fmt::format("forward: {} is {} x {}; this call takes {} x {}", name,
                                      view.rows, view.cols, rows, cols));
  }
  if (view.row_stride < cols) {
    throw InvalidArgument(
        fmt::format("forward: {} has row stride {}; it must be at least its {} "
                    "columns",
                    name, view.row_stride, cols));
  }
  if (view.col_stride != 1 && cols > 1) {
    throw InvalidArgument(
        fmt::format("forward: {} has column stride {}; the values of a row must lie side by side",
                    name, view.col_stride));
  }
  if (!fits_in_addresses(view)) {
    throw InvalidArgument(
        fmt::format("forward: {} has row stride {}; its {} rows would span more than the 2^56 "
                    "bytes that memory can have; give the stride in elements",
                    name, view.row_stride, rows));
  }
  if (view.data == nullptr && rows > 0) {
    throw InvalidArgument(fmt::format("forward: {} is a null pointer; pass {} x {} {}", name, rows,
                                      cols, view.dtype == Dtype::f32 ? "floats" : "bf16 values"));
  }
}

void check_apart(std::string_view name, const ConstAnyMatrix& other, const ConstAnyMatrix& y) {
  if (other.rows == 0) return;
  const Span of_other(other);
  check_apart(name, other.data, of_other.end - of_other.begin, y);
}

void check_apart(std::string_view name, const void* data, std::int64_t bytes,
                 const ConstAnyMatrix& y) {
  if (bytes == 0 || y.rows == 0) return;
  const Span of_y(y);
  const auto begin = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data));
  if (begin >= of_y.end || of_y.begin >= begin + bytes) return;
  throw InvalidArgument(fmt::format("forward: y overlaps {}; give y memory of its own", name));
}

void check_views(const ConstAnyMatrix& x, const ConstAnyMatrix& y, const ViewSizes& sizes) {
  check_view("x", x, sizes.rows, sizes.x_cols);
  check_view("y", y, sizes.rows, sizes.y_cols);
  check_disjoint(x, y);
}

}  // namespace headroom
