#include "simd/attend.hpp"

#include <algorithm>
#include <cstring>
#include <numbers>
#include <utility>

#include "core/rounding.hpp"
#include "simd/scratch.hpp"
#include "simd/tiles/tile_scratch.hpp"

namespace headroom::simd {
namespace {

// Tiles of 32 rows in a task, which share keys and values that are cut for them: 8 cut them too
// often, and of 32 the states leave the L2 where heads are wide.
constexpr std::int64_t kTilesPerCut = 16;

// Of two bytes and less, what makes floats of them takes as long as memory does, and both overlap
// only if the next pieces are prefetched (Zen 4, steps after 32,768 tokens: bf16 1.2 and q8 1.4
// times as fast). Floats a core of one multiply-add a cycle reads fastest by its own prefetcher
// (0.74 with ours).
bool prefetches_pieces(bool variant, Storage stored) { return variant || stored != Storage::f32; }

// Two pieces, but no more of them in the L1 than a third of 48 KiB: of floats one (Zen 5, head_dim
// 128: 1 piece 3.85 ms, 2 pieces 4.14).
StreamAhead stream_ahead(bool into_l1, std::int64_t piece, Storage stored) {
  constexpr std::int64_t kMostInL1 = 16 * 1024;
  StreamAhead ahead;
  ahead.into_l1 = into_l1;
  if (into_l1 && ahead.pieces * storage_bytes(stored, piece) > kMostInL1) ahead.pieces = 1;
  return ahead;
}

}  // namespace

StreamingAttention::StreamingAttention(const KernelTable& kernels, const TileChoice& tiles_of,
                                       Storage stored, const Case& shape, const Executor& executor,
                                       AttendPrefetches prefetches, const RoundedKernels* bytes)
    : kernels_(&kernels),
      tiles_(tiles_of),
      dtype_(dtype_of(stored)),
      rounds_(stored == Storage::q8),
      rounded_(bytes != nullptr ? bytes : kernels.rounded),
      order_(bytes != nullptr ? CacheOrder::words : CacheOrder::floats),
      prefetches_(prefetches_pieces(prefetches.rows, stored)),
      // Floats that are made of bytes take as long as memory does: nothing is gained there (0.97).
      ahead_(stream_ahead(prefetches.into_l1 && (!rounds_ || bytes != nullptr),
                          2 * kernels.lanes * shape.head_dim(), stored)),
      shape_(shape),
      dropout_{shape.dropout, shape.dropout_seed},
      group_(shape.heads / shape.key_heads()),
      panel_(2 * kernels.lanes),
      cap_(score_cap(shape.score_scale(), shape.softcap)),
      rule_cap_(score_cap(shape.score_scale(), shape.softcap, kRuleUnit)) {
  const std::int64_t head_dim = shape.head_dim();
  const std::int64_t value_dim = shape.head_value_dim();
  const bool cross = shape.d_memory > 0;
  // Values that lie in keys are read from a store alone, and their rows are those of floats.
  const bool stored_alone = shape.values_in_keys();
  if (stored_alone || rounds_) tiles_ = {};
  const std::int64_t tokens = stored_alone ? 0 : cross ? shape.memory_tokens : shape.tokens;
  const std::int64_t all_tokens = stored_alone ? 0 : cross ? shape.memory_rows() : shape.rows();
  // A vector of values must not reach into the next row, or beyond the last.
  in_place_ = value_dim % kernels.lanes == 0 && dtype_ == Dtype::f32 && !rounds_;
  const std::int64_t slots = executor.slots();
  if (!stored_alone) make_heads(executor, tokens, all_tokens);
  preparation_ = HeadPreparation(shape, tokens, kernels.normalise_rows);
  const std::int64_t tiles = divide_up(shape.tokens * group_, kernels.tile_rows);
  scratch_per_slot_ =
      round_up(attend_scratch_floats(kernels.tile_rows, kernels.lanes, head_dim, value_dim,
                                     std::clamp<std::int64_t>(tiles, 1, kTilesPerTask)),
               kChunk);
  if (const std::int64_t rows = shape.tokens * group_; tiles_.attends(rows)) {
    const TileAttendScratch at = tile_attend_scratch(
        attend_precision(tiles_.precision), dtype_, kernels.tile_rows, kernels.lanes, head_dim,
        value_dim, std::clamp<std::int64_t>(divide_up(rows, kTileBlock), 1, kTilesPerCut));
    scratch_per_slot_ = std::max(scratch_per_slot_, round_up(at.floats, kChunk));
  }
  scratch_ = AlignedBuffer(scratch_per_slot_ * slots);
  std::int64_t room = 0;
  if (rounds_) {
    room = rounded_room_floats(kernels.tile_rows, head_dim);
    if (bytes != nullptr) room += byte_room_floats(kernels.tile_rows, head_dim);
  } else if (cross || stored_alone) {
    room = attend_room_floats(kernels.lanes, head_dim, value_dim);
  }
  room_per_slot_ = round_up(room, kChunk);
  room_ = AlignedBuffer(room_per_slot_ * slots);
  if (cross && tokens > kSegment) {
    const std::int64_t pairs = all_tokens / tokens * shape.key_heads();
    states_ = AlignedBuffer(pairs * divide_up(tokens, kSegment) * state_floats());
  }
}

// Keys in eight bits are packed as floats first, from the beginning of a block on that may have
// begun in a store.
void StreamingAttention::make_heads(const Executor& executor, std::int64_t tokens,
                                    std::int64_t all_tokens) {
  const std::int64_t head_dim = shape_.head_dim();
  const std::int64_t value_dim = shape_.head_value_dim();
  const std::int64_t key_heads = shape_.key_heads();
  const std::int64_t slots = executor.slots();
  const std::int64_t unit = rounds_ ? kCacheBlock : panel_;
  const std::int64_t before = rounds_ ? kCacheBlock : 0;
  const bool with_values = !in_place_ && !rounds_;
  keys_per_slot_ = round_up(tokens, unit) + before;
  const auto make = [&](std::int64_t keys, PackedHeads& heads, RoundedHeads& rounded) {
    heads = PackedHeads(*kernels_, dtype_, head_dim, value_dim, keys, with_values);
    if (rounds_) rounded = RoundedHeads(*kernels_, order_, head_dim, value_dim, keys);
  };
  make(slots * keys_per_slot_, slot_heads_, slot_rounded_);
  if (key_heads % slots != 0) {
    shared_pairs_ = std::min(kManyHeads * slots, all_tokens * key_heads);
    const std::int64_t most = std::min(all_tokens * key_heads + shared_pairs_ * (unit + before - 1),
                                       shared_pairs_ * keys_per_slot_);
    const std::int64_t keys = round_up(most, unit);
    make(keys, shared_heads_, shared_rounded_);
    first_keys_.resize(static_cast<std::size_t>(shared_pairs_ / key_heads + 1));
    shared_heads_.zero(0, keys);
    if (rounds_) shared_rounded_.zero(0, keys);
  }
  auto zero = [this](std::int64_t slot, int) {
    slot_heads_.zero(slot * keys_per_slot_, keys_per_slot_);
    if (rounds_) slot_rounded_.zero(slot * keys_per_slot_, keys_per_slot_);
  };
  executor.run(slots, zero);
}

// Of the heads of a group, or of a few rows of a smaller one.
std::int64_t StreamingAttention::tiles_of_step() const {
  return divide_up(group_, kernels_->tile_rows);
}

std::int64_t StreamingAttention::state_floats() const {
  return attend_state_floats(kernels_->tile_rows, kernels_->lanes, shape_.head_value_dim());
}

std::int64_t StreamingAttention::states_of_head(std::int64_t capacity) const {
  return divide_up(capacity, kSegment) * tiles_of_step() * state_floats();
}

std::int64_t StreamingAttention::tile_height(std::int64_t rows) const {
  return tiles_.attends(rows) ? kTileBlock : kernels_->tile_rows;
}

std::int64_t StreamingAttention::tiles_per_task(std::int64_t rows) const {
  return tiles_.attends(rows) ? kTilesPerCut : kTilesPerTask;
}

void StreamingAttention::attend(AttendTask& task, const InputRows& key_rows, void* panels) const {
  if (rounds_) {
    rounded_->attend(task);
  } else if (task.new_keys.data != nullptr) {
    kernels_->f32.attend(task);
  } else if (tiles_.attends(task.rows)) {
    tiles_.kernels->attend({task, kernels_, dtype_, key_rows, panels});
  } else {
    kernels_->stored(dtype_).attend(task);
  }
}

StreamingAttention::Place StreamingAttention::place(const Run& run, std::int64_t pair, int slot) {
  if (rounds_) return place_rounded(run, pair, slot);
  const std::int64_t key_heads = shape_.key_heads();
  const auto index = static_cast<std::size_t>(pair / key_heads);
  const Sequence& sequence = run.call.sequences[index];
  const std::int64_t head = pair % key_heads;
  if (run.store != nullptr && run.store->rows.size() > 0) {
    const std::int64_t first = (sequence.number * key_heads + head) * run.store->capacity;
    return {{stored_at(run.store->rows.data(), dtype_, first * shape_.head_dim()), nullptr}, {}};
  }
  if (run.store != nullptr) {
    return {run.store->heads.head((sequence.number * key_heads + head) * run.store->capacity), {}};
  }
  if (!run.shared) return {slot_heads_.head(slot * keys_per_slot_), {}};
  return {shared_heads_.head(first_keys_[index] + head * packed_keys(sequence)), {}};
}

const Sequence& StreamingAttention::sequence_of(const Run& run, std::int64_t pair) const {
  return run.call.sequences[static_cast<std::size_t>(pair / shape_.key_heads())];
}

// New keys, and the queries of their group.
void StreamingAttention::prepare(const Run& run, std::int64_t pair) const {
  const Sequence& sequence = sequence_of(run, pair);
  const std::int64_t key_head = pair % shape_.key_heads();
  const HeadPreparation& preparation = run.store != nullptr ? run.store->preparation : preparation_;
  preparation.keys(run.call, sequence, key_head);
  for (std::int64_t h = key_head * group_; h < (key_head + 1) * group_; ++h) {
    preparation.queries(run.call, sequence, h);
  }
}

// New keys are prepared and packed; the queries of the group are prepared on the way.
void StreamingAttention::append(const Run& run, std::int64_t pair, const Place& head) {
  const Sequence& sequence = sequence_of(run, pair);
  const std::int64_t key_head = pair % shape_.key_heads();
  const AttendCall& call = run.call;
  prepare(run, pair);
  if (rounds_) {
    append_rounded(run, sequence, key_head, head);
    return;
  }
  if (run.store != nullptr && run.store->rows.size() > 0) {
    for (std::int64_t i = 0; i < sequence.new_keys; ++i) {
      kernels_->stored(dtype_).copy(
          call.k.at(sequence.first_key + i, key_head), call.k.dtype, shape_.head_dim(),
          stored_at(head.keys, dtype_, (sequence.past + i) * shape_.head_dim()));
    }
    return;
  }
  const PackedHeads& heads = run.store != nullptr ? run.store->heads : slot_heads_;
  heads.append(head, sequence.past, sequence.new_keys, call.k, call.v, sequence.first_key,
               key_head);
}

AttendTask StreamingAttention::task_of(const Run& run, std::int64_t pair, const Place& head,
                                       int slot) {
  const std::int64_t key_heads = shape_.key_heads();
  const Sequence& sequence = run.call.sequences[static_cast<std::size_t>(pair / key_heads)];
  const std::int64_t key_head = pair % key_heads;
  const std::int64_t first_head = key_head * group_;
  const AttendCall& call = run.call;
  AttendTask task;
  task.q = call.q.at(sequence.first_row, first_head);
  task.q_dtype = call.q.dtype;
  task.q_stride = call.q.row_stride;
  task.q_head_stride = call.q.block_stride;
  task.group = group_;
  task.rows = sequence.rows * group_;
  task.position = sequence.position;
  const bool in_place = head.values == nullptr && !rounds_;
  task.keys = head.keys;
  task.values = in_place ? call.v.at(sequence.first_key, key_head) : head.values;
  task.value_stride = in_place ? call.v.row_stride : slot_heads_.value_stride();
  if (rounds_) {
    task.keys = head.rounded.keys;
    task.key_scales = head.rounded.key_scales;
    task.values = head.rounded.values;
    task.value_scales = head.rounded.value_scales;
    task.fresh = static_cast<const float*>(head.keys);
    task.fresh_begin = head.fresh_begin;
    task.room = room_.data() + slot * room_per_slot_;
  }
  if (run.store != nullptr && run.store->rows.size() > 0) {
    task.new_keys = task.new_values = {head.keys, dtype_, shape_.head_dim()};
    task.room = room_.data() + slot * room_per_slot_;
  }
  task.key_count = sequence.keys();
  task.out = call.out.at(sequence.first_out, first_head);
  task.out_dtype = call.out.dtype;
  task.out_stride = call.out.row_stride;
  task.out_head_stride = call.out.block_stride;
  task.head_dim = shape_.head_dim();
  task.value_dim = shape_.head_value_dim();
  task.tiles = divide_up(task.rows, tile_height(task.rows));
  task.rule = mask_rule(shape_);
  task.prefetches = prefetches_;
  task.ahead = ahead_;
  task.scale = static_cast<float>(std::numbers::log2e * shape_.score_scale());
  task.cap = cap_;
  if (cap_.any()) task.scale = 1;
  if (call.mask.any()) {
    add_mask(task, call.mask_of(sequence, first_head));
  } else if (cap_.most > kMostShift) {
    task.caps_first = true;
    change_scores(task);
  }
  if (call.parameters.sinks != nullptr) task.sinks = call.parameters.sinks + first_head;
  task.dropout = shape_.dropout > 0 ? &dropout_ : nullptr;
  task.dropout_head = sequence.pattern_head + first_head;
  task.scratch = scratch_.data() + slot * scratch_per_slot_;
  return task;
}

// Distances alone are added where scores are computed, by those kernels that can. So are numbers,
// if no heads share rows and each row's lie side by side.
void StreamingAttention::add_mask(AttendTask& task, const ScoreMask& mask) const {
  const bool by_tiles = task.new_keys.data == nullptr && tiles_.attends(task.rows);
  const bool at_once = group_ == 1 && !cap_.any() && !by_tiles;
  // They are divided by the scale, and beyond this a sum with a score might be infinite.
  constexpr float kMostDistance = 0x1p100F;
  const auto distance_scale = static_cast<float>(1 / shape_.score_scale());
  if (!mask.is_given() && at_once && mask.largest_distance * distance_scale <= kMostDistance) {
    task.distances = mask.by_distance;
    task.distance_scale = distance_scale;
    return;
  }
  task.mask = mask;
  task.adds_at_once =
      at_once && mask.seen == nullptr && mask.by_distance == nullptr && mask.key_stride == 1;
  if (!task.only_hides()) change_scores(task);
}

void StreamingAttention::change_scores(AttendTask& task) const {
  task.rule_scale = std::exchange(task.scale, kRuleUnit) / kRuleUnit;
  task.cap = rule_cap_;
}

}  // namespace headroom::simd
