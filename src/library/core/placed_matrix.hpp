// The input or output of a layer that is measured, on huge pages however small it is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/aligned_buffer.hpp"
#include "core/arena.hpp"
#include "headroom/view.hpp"

namespace headroom {

/// A matrix without gaps whose pages are huge where the system has them. On small pages the time of
/// a layer depends on where these happen to lie (docs/link.md says what a caller can do).
class PlacedMatrix {
 public:
  PlacedMatrix() = default;
  /// Uninitialised.
  PlacedMatrix(std::int64_t rows, std::int64_t cols)
      : data_(on_huge_pages(rows * cols)), rows_(rows), cols_(cols) {}
  explicit PlacedMatrix(ConstMatrixView from) : PlacedMatrix(from.rows, from.cols) {
    for (std::int64_t row = 0; row < rows_; ++row) {
      std::copy_n(from.row(row), cols_, view().row(row));
    }
  }

  MatrixView view() { return {data_.data(), rows_, cols_, cols_}; }
  ConstMatrixView view() const { return {data_.data(), rows_, cols_, cols_}; }

 private:
  static AlignedBuffer on_huge_pages(std::int64_t count) {
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(float));
    const ArenaScope scope(std::max(bytes, ArenaScope::kLeastBytes));
    return AlignedBuffer(count);
  }

  AlignedBuffer data_;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
};

}  // namespace headroom
