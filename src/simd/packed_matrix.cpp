#include "simd/packed_matrix.hpp"

#include <algorithm>

#include "core/side_by_side.hpp"

namespace headroom::simd {

PackedMatrix::PackedMatrix(const std::vector<ConstMatrixView>& parts,
                           const std::vector<const float*>& biases, std::int64_t lanes,
                           const Executor& executor)
    : depth_(parts.front().rows), cols_(total_cols(parts)), panel_cols_(2 * lanes) {
  const std::int64_t padded = round_up(cols_, lanes);
  data_ = AlignedBuffer(padded * depth_);
  auto task = [&](std::int64_t panel, int) {
    const std::int64_t col = panel * panel_cols_;
    pack_panel(parts, col, std::min(panel_cols_, padded - col));
  };
  executor.run(panels(), task);
  if (!biases.empty()) bias_ = end_to_end(biases, parts, round_up(cols_, panel_cols_));
}

void PackedMatrix::pack_panel(const std::vector<ConstMatrixView>& parts, std::int64_t first_col,
                              std::int64_t width) {
  float* panel = data_.data() + first_col * depth_;
  std::int64_t part_first = 0;
  for (const ConstMatrixView& part : parts) {
    const std::int64_t from = std::max(first_col, part_first);
    const std::int64_t to = std::min(first_col + width, part_first + part.cols);
    if (from < to) {
      for (std::int64_t k = 0; k < depth_; ++k) {
        std::copy_n(part.row(k) + (from - part_first), to - from,
                    panel + k * width + (from - first_col));
      }
    }
    part_first += part.cols;
  }
  const std::int64_t used = std::clamp<std::int64_t>(cols_ - first_col, 0, width);
  if (used < width) {
    for (std::int64_t k = 0; k < depth_; ++k) {
      std::fill_n(panel + k * width + used, width - used, 0.0F);
    }
  }
}

}  // namespace headroom::simd
