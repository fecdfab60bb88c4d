#include "simd/packed_matrix.hpp"

#include <algorithm>

namespace headroom::simd {
namespace {

std::int64_t total_cols(const std::vector<ConstMatrixView>& parts) {
  std::int64_t cols = 0;
  for (const ConstMatrixView& part : parts) cols += part.cols;
  return cols;
}

}  // namespace

PackedMatrix::PackedMatrix(const std::vector<ConstMatrixView>& parts,
                           const std::vector<const float*>& biases, std::int64_t lanes)
    : depth_(parts.front().rows), cols_(total_cols(parts)), panel_cols_(2 * lanes) {
  const std::int64_t padded = round_up(cols_, lanes);
  data_ = AlignedBuffer(padded * depth_);
  for (std::int64_t col = 0; col < padded; col += panel_cols_) {
    pack_panel(parts, col, std::min(panel_cols_, padded - col));
  }
  if (biases.empty()) return;
  bias_ = AlignedBuffer(round_up(cols_, panel_cols_));
  std::fill_n(bias_.data(), bias_.size(), 0.0F);
  float* to = bias_.data();
  for (std::size_t i = 0; i < parts.size(); ++i) to = std::copy_n(biases[i], parts[i].cols, to);
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
