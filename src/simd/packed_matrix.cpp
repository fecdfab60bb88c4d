#include "simd/packed_matrix.hpp"

#include <algorithm>

#include "core/side_by_side.hpp"

namespace headroom::simd {

PackedMatrix::PackedMatrix(const std::vector<ConstMatrixView>& parts,
                           const std::vector<const float*>& biases, const KernelTable& kernels,
                           Dtype dtype, const Executor& executor)
    : depth_(parts.front().rows),
      cols_(total_cols(parts)),
      panel_cols_(2 * kernels.lanes),
      dtype_(dtype) {
  const std::int64_t padded = round_up(cols_, kernels.lanes);
  const bool halves = dtype == Dtype::bf16;
  data_ = AlignedBuffer(halves ? divide_up(padded * depth_, 2) : padded * depth_);
  const auto copy = kernels.stored(dtype).copy;
  auto task = [&](std::int64_t panel, int) {
    const std::int64_t col = panel * panel_cols_;
    const std::int64_t width = std::min(panel_cols_, padded - col);
    if (halves) {
      pack_panel<Half>(parts, col, width, copy);
    } else {
      pack_panel<float>(parts, col, width, copy);
    }
  };
  executor.run(panels(), task);
  if (!biases.empty()) bias_ = end_to_end(biases, parts, round_up(cols_, panel_cols_));
}

template <class T>
void PackedMatrix::pack_panel(const std::vector<ConstMatrixView>& parts, std::int64_t first_col,
                              std::int64_t width, void (*copy)(const float*, std::int64_t, void*)) {
  T* panel = reinterpret_cast<T*>(data_.data()) + first_col * depth_;
  std::int64_t part_first = 0;
  for (const ConstMatrixView& part : parts) {
    const std::int64_t from = std::max(first_col, part_first);
    const std::int64_t to = std::min(first_col + width, part_first + part.cols);
    if (from < to) {
      for (std::int64_t k = 0; k < depth_; ++k) {
        copy(part.row(k) + (from - part_first), to - from, panel + k * width + (from - first_col));
      }
    }
    part_first += part.cols;
  }
  const std::int64_t used = std::clamp<std::int64_t>(cols_ - first_col, 0, width);
  if (used < width) {
    for (std::int64_t k = 0; k < depth_; ++k) {
      std::fill_n(panel + k * width + used, width - used, T{0});
    }
  }
}

}  // namespace headroom::simd
