#include "simd/attend.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/rounding.hpp"
#include "simd/scratch.hpp"

namespace headroom::simd {
namespace {

// Tiles per task: they share a block of keys and values while it is in the L2.
constexpr std::int64_t kTilesPerTask = 8;

}  // namespace

StreamingAttention::StreamingAttention(const KernelTable& kernels, const Shape& shape, int slots)
    : kernels_(&kernels),
      shape_(shape),
      dropout_{shape.dropout, shape.dropout_seed},
      panel_(2 * kernels.lanes) {
  const std::int64_t head_dim = shape.head_dim();
  const std::int64_t pairs = shape.batch * shape.heads;
  keys_per_head_ = round_up(shape.tokens, panel_) * head_dim;
  values_per_head_ = round_up(head_dim, kernels.lanes) * shape.tokens;
  keys_ = AlignedBuffer(pairs * keys_per_head_);
  values_ = AlignedBuffer(pairs * values_per_head_);
  // Padding keys are scored and then masked; padding columns of values are never stored. Zeros
  // avoid slow denormals and undefined values in both.
  std::fill_n(keys_.data(), keys_.size(), 0.0F);
  std::fill_n(values_.data(), values_.size(), 0.0F);
  tiles_ = divide_up(shape.tokens, kernels.tile_rows);
  tasks_per_head_ = std::max<std::int64_t>(1, divide_up(tiles_, kTilesPerTask));
  tiles_per_task_ = divide_up(tiles_, tasks_per_head_);
  scratch_per_slot_ =
      attend_scratch_floats(kernels.tile_rows, kernels.lanes, head_dim, tiles_per_task_);
  scratch_ = AlignedBuffer(scratch_per_slot_ * slots);
}

void StreamingAttention::pack_head(const ConstBlockedView& k, const ConstBlockedView& v,
                                   std::int64_t pair) {
  const std::int64_t first_row = pair / shape_.heads * shape_.tokens;
  const std::int64_t head = pair % shape_.heads;
  const std::int64_t head_dim = shape_.head_dim();
  const std::int64_t lanes = kernels_->lanes;
  float* keys = keys_.data() + pair * keys_per_head_;
  float* values = values_.data() + pair * values_per_head_;
  kernels_->pack_keys(k.at(first_row, head), k.row_stride, shape_.tokens, head_dim, keys);
  for (std::int64_t t = 0; t < shape_.tokens; ++t) {
    const float* value = v.at(first_row + t, head);
    for (std::int64_t c = 0; c < head_dim; c += panel_) {
      const std::int64_t rest = head_dim - c;
      const std::int64_t width = rest <= lanes ? lanes : panel_;
      std::copy_n(value + c, std::min(width, rest), values + c * shape_.tokens + t * width);
    }
  }
}

void StreamingAttention::run(const Executor& executor, const ConstBlockedView& q,
                             const ConstBlockedView& k, const ConstBlockedView& v,
                             const BlockedView& out) {
  const std::int64_t pairs = shape_.batch * shape_.heads;
  auto pack = [&](std::int64_t pair, int) { pack_head(k, v, pair); };
  executor.run(pairs, pack);

  AttendTask common;
  common.q_stride = q.row_stride;
  common.out_stride = out.row_stride;
  common.tokens = shape_.tokens;
  common.head_dim = shape_.head_dim();
  common.tiles = tiles_;
  common.causal = shape_.causal;
  common.scale =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(shape_.head_dim())));
  common.dropout = shape_.dropout > 0 ? &dropout_ : nullptr;
  auto task = [&](std::int64_t index, int slot) {
    AttendTask part = common;
    const std::int64_t pair = index / tasks_per_head_;
    // Later query rows see more keys. The largest tasks come first, to balance the load at the end.
    const std::int64_t block = tasks_per_head_ - 1 - index % tasks_per_head_;
    const std::int64_t first_row = pair / shape_.heads * shape_.tokens;
    const std::int64_t head = pair % shape_.heads;
    part.q = q.at(first_row, head);
    part.keys = keys_.data() + pair * keys_per_head_;
    part.values = values_.data() + pair * values_per_head_;
    part.out = out.at(first_row, head);
    part.tile_begin = std::min(block * tiles_per_task_, tiles_);
    part.tile_end = std::min(part.tile_begin + tiles_per_task_, tiles_);
    part.row_index = static_cast<std::uint64_t>(pair * shape_.tokens);
    part.scratch = scratch_.data() + slot * scratch_per_slot_;
    if (part.tile_begin < part.tile_end) kernels_->attend(part);
  };
  executor.run(pairs * tasks_per_head_, task);
}

}  // namespace headroom::simd
