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
// From this many heads per slot on, a slot that idles at the end while another works on its last
// head loses little.
constexpr std::int64_t kManyHeads = 8;

// Packing keys costs about this share of the attention of short sequences.
constexpr double kPackShare = 0.1;

// At half the rate of products, and less for short heads.
double expected_seconds(const KernelTable& kernels, const Shape& shape) {
  constexpr double kFlopsPerLane = 4e9;
  constexpr double kSecondsPerRow = 50e-9;
  const double rows = static_cast<double>(shape.rows()) * static_cast<double>(shape.heads);
  return shape.flops().attention / (kFlopsPerLane * static_cast<double>(kernels.lanes)) +
         rows * kSecondsPerRow;
}

}  // namespace

StreamingAttention::StreamingAttention(const KernelTable& kernels, const Shape& shape,
                                       const Executor& executor)
    : kernels_(&kernels),
      shape_(shape),
      dropout_{shape.dropout, shape.dropout_seed},
      panel_(2 * kernels.lanes) {
  const std::int64_t head_dim = shape.head_dim();
  const std::int64_t pairs = shape.batch * shape.heads;
  seconds_ = expected_seconds(kernels, shape);
  const std::int64_t slots = executor.slots_for(seconds_);
  whole_heads_ = pairs % slots == 0 || pairs >= kManyHeads * slots;
  // A vector of values must not reach into the next row, or beyond the last.
  in_place_ = head_dim % kernels.lanes == 0;
  keys_per_head_ = round_up(shape.tokens, panel_) * head_dim;
  values_per_head_ = in_place_ ? 0 : round_up(head_dim, kernels.lanes) * shape.tokens;
  const std::int64_t copies = whole_heads_ ? slots : pairs;
  keys_ = AlignedBuffer(copies * keys_per_head_);
  values_ = AlignedBuffer(copies * values_per_head_);
  auto zero = [this](std::int64_t copy, int) { zero_padding(copy); };
  executor.run(copies, zero);
  tiles_ = divide_up(shape.tokens, kernels.tile_rows);
  tasks_per_head_ = std::max<std::int64_t>(1, divide_up(tiles_, kTilesPerTask));
  tiles_per_task_ = divide_up(tiles_, tasks_per_head_);
  scratch_per_slot_ = round_up(
      attend_scratch_floats(kernels.tile_rows, kernels.lanes, head_dim, tiles_per_task_), kChunk);
  scratch_ = AlignedBuffer(scratch_per_slot_ * slots);
}

// Padding keys are scored and then masked; padding columns of values are never stored. Zeros avoid
// slow denormals and undefined values in both. Whole panels of keys are written before they are
// read.
void StreamingAttention::zero_padding(std::int64_t copy) {
  const std::int64_t last_panel = std::min(panel_ * shape_.head_dim(), keys_per_head_);
  std::fill_n(keys_.data() + (copy + 1) * keys_per_head_ - last_panel, last_panel, 0.0F);
  std::fill_n(values_.data() + copy * values_per_head_, values_per_head_, 0.0F);
}

void StreamingAttention::pack_head(const ConstBlockedView& k, const ConstBlockedView& v,
                                   std::int64_t pair, std::int64_t copy) {
  const std::int64_t first_row = pair / shape_.heads * shape_.tokens;
  const std::int64_t head = pair % shape_.heads;
  const std::int64_t head_dim = shape_.head_dim();
  const std::int64_t lanes = kernels_->lanes;
  kernels_->pack_keys(k.at(first_row, head), k.row_stride, shape_.tokens, head_dim,
                      keys_.data() + copy * keys_per_head_);
  if (in_place_) return;
  float* values = values_.data() + copy * values_per_head_;
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
  AttendTask common;
  common.q_stride = q.row_stride;
  common.out_stride = out.row_stride;
  common.tokens = shape_.tokens;
  common.head_dim = shape_.head_dim();
  common.value_stride = in_place_ ? v.row_stride : 0;
  common.tiles = tiles_;
  common.causal = shape_.causal;
  common.scale =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(shape_.head_dim())));
  common.dropout = shape_.dropout > 0 ? &dropout_ : nullptr;
  const auto attend = [&](std::int64_t pair, std::int64_t copy, std::int64_t block, int slot) {
    AttendTask part = common;
    const std::int64_t first_row = pair / shape_.heads * shape_.tokens;
    const std::int64_t head = pair % shape_.heads;
    part.q = q.at(first_row, head);
    part.keys = keys_.data() + copy * keys_per_head_;
    part.values = in_place_ ? v.at(first_row, head) : values_.data() + copy * values_per_head_;
    part.out = out.at(first_row, head);
    part.tile_begin = std::min(block * tiles_per_task_, tiles_);
    part.tile_end = std::min(part.tile_begin + tiles_per_task_, tiles_);
    part.row_index = static_cast<std::uint64_t>(pair * shape_.tokens);
    part.scratch = scratch_.data() + slot * scratch_per_slot_;
    if (part.tile_begin < part.tile_end) kernels_->attend(part);
  };
  if (whole_heads_) {
    // The keys of a head are still in the nearest caches when they are read.
    auto head = [&](std::int64_t pair, int slot) {
      pack_head(k, v, pair, slot);
      for (std::int64_t block = 0; block < tasks_per_head_; ++block) {
        attend(pair, slot, block, slot);
      }
    };
    executor.run(pairs, head, seconds_);
    return;
  }
  auto pack = [&](std::int64_t pair, int) { pack_head(k, v, pair, pair); };
  executor.run(pairs, pack, kPackShare * seconds_);
  auto task = [&](std::int64_t index, int slot) {
    const std::int64_t pair = index / tasks_per_head_;
    // Later query rows see more keys. The largest tasks come first, to balance the load at the end.
    attend(pair, pair, tasks_per_head_ - 1 - index % tasks_per_head_, slot);
  };
  executor.run(pairs * tasks_per_head_, task, seconds_);
}

}  // namespace headroom::simd
