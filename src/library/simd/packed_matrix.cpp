#include "simd/packed_matrix.hpp"

#include <algorithm>
#include <cstring>

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
  data_ = stored_buffer(dtype, padded * depth_);
  auto task = [&](std::int64_t panel, int) {
    const std::int64_t col = panel * panel_cols_;
    pack_panel(parts, col, std::min(panel_cols_, padded - col), kernels.stored(dtype));
  };
  executor.run(panels(), task);
  if (!biases.empty()) bias_ = end_to_end(biases, parts, round_up(cols_, panel_cols_));
}

void PackedMatrix::pack_panel(const std::vector<ConstMatrixView>& parts, std::int64_t first_col,
                              std::int64_t width, const StoredKernels& stored) {
  const auto place = [&](std::int64_t k, std::int64_t col) {
    return stored_at(data_.data(), dtype_, first_col * depth_ + k * width + col);
  };
  std::int64_t part_first = 0;
  for (const ConstMatrixView& part : parts) {
    const std::int64_t from = std::max(first_col, part_first);
    const std::int64_t to = std::min(first_col + width, part_first + part.cols);
    if (from < to) {
      for (std::int64_t k = 0; k < depth_; ++k) {
        stored.copy(part.row(k) + (from - part_first), Dtype::f32, to - from,
                    place(k, from - first_col));
      }
    }
    part_first += part.cols;
  }
  const std::int64_t used = std::clamp<std::int64_t>(cols_ - first_col, 0, width);
  if (used < width) {
    const std::int64_t bytes = bytes_of(dtype_, width - used);
    for (std::int64_t k = 0; k < depth_; ++k) {
      std::memset(place(k, used), 0, static_cast<std::size_t>(bytes));
    }
  }
}

PanelRun run_of(const PackedMatrix& matrix, std::int64_t panel_begin, std::int64_t panel_end,
                const BlockedView& y) {
  PanelRun run;
  run.panels = matrix.data();
  run.bias = matrix.bias();
  run.cols = matrix.cols();
  run.panel_begin = panel_begin;
  run.panel_end = panel_end;
  run.y = y.data;
  run.y_stride = y.row_stride;
  run.block_cols = y.block_cols;
  run.block_stride = y.block_stride;
  return run;
}

}  // namespace headroom::simd
