/// @file
/// Non-owning views of row-major float matrices. The caller owns the data.
#pragma once

#include <cstdint>
#include <type_traits>

namespace headroom {

/// `rows x cols` values; row `r` starts at `data + r * row_stride` (strides count elements, not
/// bytes). For activations of shape `B x T x width` the rows are the `B * T` tokens in order.
template <class T>
struct BasicMatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;

  /// Start of row `r`.
  T* row(std::int64_t r) const { return data + r * row_stride; }

  /// `count` rows from `first` on.
  BasicMatrixView slice(std::int64_t first, std::int64_t count) const {
    return {row(first), count, cols, row_stride};
  }

  /// The same values, read-only.
  // NOLINTNEXTLINE(google-explicit-constructor): as harmless as float* to const float*
  operator BasicMatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, row_stride};
  }
};

using MatrixView = BasicMatrixView<float>;
using ConstMatrixView = BasicMatrixView<const float>;

}  // namespace headroom
