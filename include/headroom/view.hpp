/// @file
/// Non-owning views of matrices. The caller owns the data.
#pragma once

#include <cstdint>
#include <type_traits>

#include "headroom/dtype.hpp"

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

/// A matrix where it lies in the caller's memory, of values of any dtype: value `(r, c)` is at
/// `data + r * row_stride + c * col_stride`. Strides count values, not bytes.
template <class Void>
struct BasicAnyMatrix {
  BasicAnyMatrix() = default;
  BasicAnyMatrix(Void* first, Dtype of, std::int64_t row_count, std::int64_t col_count,
                 std::int64_t between_rows, std::int64_t between_cols = 1)
      : data(first),
        dtype(of),
        rows(row_count),
        cols(col_count),
        row_stride(between_rows),
        col_stride(between_cols) {}
  /// Of floats or `Bf16`.
  template <class T>
  requires std::is_convertible_v<T*, Void*> BasicAnyMatrix(T* first, std::int64_t row_count,
                                                           std::int64_t col_count,
                                                           std::int64_t between_rows,
                                                           std::int64_t between_cols = 1)
      : BasicAnyMatrix(first, kDtypeOf<std::remove_const_t<T>>, row_count, col_count, between_rows,
                       between_cols) {}
  template <class T>
  requires std::is_convertible_v<T*, Void*>
  // NOLINTNEXTLINE(google-explicit-constructor): a view is a view
  BasicAnyMatrix(const BasicMatrixView<T>& of)
      : BasicAnyMatrix(of.data, of.rows, of.cols, of.row_stride) {}

  Void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;

  /// Start of row `r`; null for a view of nothing.
  Void* row(std::int64_t r) const { return value(r * row_stride); }

  /// `count` columns from `first` on.
  BasicAnyMatrix columns(std::int64_t first, std::int64_t count) const {
    return {value(first * col_stride), dtype, rows, count, row_stride, col_stride};
  }

  /// The same values, rows for columns: of a matrix that `nn.Linear` keeps, which has a row for
  /// each output, the one that x is multiplied by.
  BasicAnyMatrix transposed() const { return {data, dtype, cols, rows, col_stride, row_stride}; }

  /// The same values, read-only.
  // NOLINTNEXTLINE(google-explicit-constructor): as harmless as float* to const float*
  operator BasicAnyMatrix<const void>() const requires(!std::is_const_v<Void>) {
    return {data, dtype, rows, cols, row_stride, col_stride};
  }

 private:
  Void* value(std::int64_t index) const {
    using Byte = std::conditional_t<std::is_const_v<Void>, const char, char>;
    if (data == nullptr) return nullptr;
    return static_cast<Byte*>(data) + index * size_of(dtype);
  }
};

using AnyMatrix = BasicAnyMatrix<void>;
using ConstAnyMatrix = BasicAnyMatrix<const void>;

}  // namespace headroom
