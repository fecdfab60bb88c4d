#include "simd/packed_matrix.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/element/few_bits.hpp"
#include "core/element/read_matrix.hpp"
#include "core/side_by_side.hpp"

namespace headroom::simd {
namespace {

constexpr std::int64_t kMostPanelCols = 32;  // two vectors of the widest level

}  // namespace

PackedMatrix::PackedMatrix(const std::vector<ConstAnyMatrix>& parts,
                           const std::vector<ConstAnyMatrix>& biases, const KernelTable& kernels,
                           Storage storage, const Executor& executor, GroupOrder order)
    : depth_(parts.front().rows),
      cols_(total_cols(parts)),
      panel_cols_(2 * kernels.lanes),
      storage_(storage),
      order_(order) {
  const std::int64_t padded = round_up(cols_, kernels.lanes);
  const std::int64_t depth = is_few_bits(storage) ? round_up(depth_, kGroup) : depth_;
  data_ = buffer_of_bytes(storage_bytes(storage, padded * depth));
  auto task = [&](std::int64_t panel, int) {
    const std::int64_t col = panel * panel_cols_;
    const std::int64_t width = std::min(panel_cols_, padded - col);
    if (is_few_bits(storage)) {
      auto* bytes = reinterpret_cast<std::byte*>(data_.data());
      pack_groups(storage, order, {parts, col, width}, bytes + storage_bytes(storage, col * depth));
    } else {
      pack_panel(parts, col, width, kernels.stored(dtype()));
    }
  };
  executor.run(panels(), task);
  if (!biases.empty()) bias_ = end_to_end(biases, round_up(cols_, panel_cols_));
}

// Some columns of a part become those of a panel, `width` wide, from its column `at` on.
void PackedMatrix::pack_part(const ConstAnyMatrix& part, std::int64_t first_col, std::int64_t width,
                             std::int64_t at, const StoredKernels& stored) {
  const auto place = [&](std::int64_t k) {
    return stored_at(data_.data(), dtype(), first_col * depth_ + k * width + at);
  };
  if (part.dtype != Dtype::f16 && part.col_stride == 1) {
    for (std::int64_t k = 0; k < depth_; ++k) {
      stored.copy(part.row(k), part.dtype, part.cols, place(k));
    }
    return;
  }
  if (part.dtype != Dtype::f16 && part.row_stride == 1 && width == panel_cols_) {
    // As keys, which are rows of the depth and become columns.
    stored.pack_keys({part.data, part.dtype, part.col_stride}, at, part.cols, depth_,
                     stored_at(data_.data(), dtype(), first_col * depth_));
    return;
  }
  constexpr std::int64_t kRows = 64;  // with the widest panel 8 KiB, a quarter of the L1
  std::array<float, kRows * kMostPanelCols> floats;
  for (std::int64_t k = 0; k < depth_; k += kRows) {
    const std::int64_t rows = std::min(kRows, depth_ - k);
    const MatrixView piece{floats.data(), rows, part.cols, part.cols};
    read_matrix({part.row(k), part.dtype, rows, part.cols, part.row_stride, part.col_stride},
                piece);
    for (std::int64_t r = 0; r < rows; ++r) {
      stored.copy(piece.row(r), Dtype::f32, part.cols, place(k + r));
    }
  }
}

void PackedMatrix::pack_panel(const std::vector<ConstAnyMatrix>& parts, std::int64_t first_col,
                              std::int64_t width, const StoredKernels& stored) {
  std::int64_t part_first = 0;
  for (const ConstAnyMatrix& part : parts) {
    const std::int64_t from = std::max(first_col, part_first);
    const std::int64_t to = std::min(first_col + width, part_first + part.cols);
    if (from < to) {
      pack_part(part.columns(from - part_first, to - from), first_col, width, from - first_col,
                stored);
    }
    part_first += part.cols;
  }
  const std::int64_t used = std::clamp<std::int64_t>(cols_ - first_col, 0, width);
  if (used < width) {
    const std::int64_t bytes = bytes_of(dtype(), width - used);
    for (std::int64_t k = 0; k < depth_; ++k) {
      void* rest = stored_at(data_.data(), dtype(), first_col * depth_ + k * width + used);
      std::memset(rest, 0, static_cast<std::size_t>(bytes));
    }
  }
}

PanelRun run_of(const PackedMatrix& matrix, std::int64_t panel_begin, std::int64_t panel_end,
                const AnyBlockedView& y) {
  PanelRun run;
  run.panels = matrix.data();
  run.bias = matrix.bias();
  run.cols = matrix.cols();
  run.panel_begin = panel_begin;
  run.panel_end = panel_end;
  run.y = y.data;
  run.y_dtype = y.dtype;
  run.y_stride = y.row_stride;
  run.block_cols = y.block_cols;
  run.block_stride = y.block_stride;
  return run;
}

}  // namespace headroom::simd
