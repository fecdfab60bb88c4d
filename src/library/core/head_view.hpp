// Strided views of activations that are divided into heads.
#pragma once

#include <cstdint>
#include <type_traits>

#include "headroom/view.hpp"

namespace headroom {

/// `rows x (blocks * block_cols)` values whose columns come in blocks: column `c` of row `r` is at
/// `data + r * row_stride + (c / block_cols) * block_stride + c % block_cols`.
/// With one block this is a plain strided matrix. With one block per head it describes both layouts
/// in use: token-major (row_stride = d_out, block_stride = head_dim) and head-major (row_stride =
/// head_dim, block_stride = rows * head_dim).
template <class T>
struct BasicBlockedView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t row_stride = 0;
  std::int64_t blocks = 1;
  std::int64_t block_cols = 0;
  std::int64_t block_stride = 0;

  std::int64_t cols() const { return blocks * block_cols; }
  /// Null for a view of nothing, to which no offset may be added.
  T* at(std::int64_t row, std::int64_t block) const {
    return data == nullptr ? nullptr : data + row * row_stride + block * block_stride;
  }
  /// `count` blocks from `first` on.
  BasicBlockedView slice(std::int64_t first, std::int64_t count) const {
    return {at(0, first), rows, row_stride, count, block_cols, block_stride};
  }
  // NOLINTNEXTLINE(google-explicit-constructor): as harmless as float* to const float*
  operator BasicBlockedView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, row_stride, blocks, block_cols, block_stride};
  }
};

using BlockedView = BasicBlockedView<float>;

/// The same of floats or of Bf16.
struct AnyBlockedView {
  AnyBlockedView() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a view is a view
  AnyBlockedView(const BlockedView& of)
      : AnyBlockedView(of.data, Dtype::f32, of.rows, of.row_stride, of.blocks, of.block_cols,
                       of.block_stride) {}
  AnyBlockedView(void* first, Dtype of, std::int64_t all_rows, std::int64_t stride,
                 std::int64_t count, std::int64_t cols, std::int64_t between)
      : data(first),
        dtype(of),
        rows(all_rows),
        row_stride(stride),
        blocks(count),
        block_cols(cols),
        block_stride(between) {}

  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0;
  std::int64_t row_stride = 0;
  std::int64_t blocks = 1;
  std::int64_t block_cols = 0;
  std::int64_t block_stride = 0;

  /// Null for a view of nothing.
  void* at(std::int64_t row, std::int64_t block) const {
    return data == nullptr ? nullptr : value(row * row_stride + block * block_stride);
  }
  void* value(std::int64_t index) const {
    return static_cast<char*>(data) + index * size_of(dtype);
  }
  /// Block `block` alone.
  AnyBlockedView slice(std::int64_t block) const {
    return {at(0, block), dtype, rows, row_stride, 1, block_cols, block_stride};
  }
  /// @pre they are floats
  BlockedView floats() const {
    return {static_cast<float*>(data), rows, row_stride, blocks, block_cols, block_stride};
  }
};

/// @pre they are floats, the values of a row side by side
inline ConstMatrixView floats(const ConstAnyMatrix& of) {
  return {static_cast<const float*>(of.data), of.rows, of.cols, of.row_stride};
}

/// How the rows of query, key and value lie in the workspace between the two operations.
enum class HeadLayout {
  token_major,  ///< a token's heads side by side, as a plain product writes them
  head_major,   ///< a head's tokens together, so that a wide row stride cannot thrash the L1
};

}  // namespace headroom
