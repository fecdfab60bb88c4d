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

// From this many heads per slot on, a slot that idles at the end while another works on its last
// head loses little.
constexpr std::int64_t kManyHeads = 8;

// Packing keys costs about this share of the attention of short sequences.
constexpr double kPackShare = 0.1;

// The same for tiles of 32 rows, which share keys and values that are cut for them: 8 cut them too
// often, and of 32 the states leave the L2 where heads are wide.
constexpr std::int64_t kTilesPerCut = 16;

}  // namespace

StreamingAttention::StreamingAttention(const KernelTable& kernels, const TileChoice& tiles_of,
                                       Storage stored, const Case& shape, const Executor& executor,
                                       bool prefetches)
    : kernels_(&kernels),
      tiles_(tiles_of),
      dtype_(stored == Storage::bf16 ? Dtype::bf16 : Dtype::f32),
      rounds_(stored == Storage::q8),
      prefetches_(prefetches),
      shape_(shape),
      dropout_{shape.dropout, shape.dropout_seed},
      group_(shape.heads / shape.key_heads()),
      panel_(2 * kernels.lanes),
      cap_(score_cap(shape.score_scale(), shape.softcap)) {
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
    room = std::max(rounded_room_floats(kernels.tile_rows, head_dim), value_dim);
  } else if (cross || stored_alone) {
    room = attend_room_floats(kernels.lanes, head_dim, value_dim);
  }
  room_per_slot_ = round_up(room, kChunk);
  room_ = AlignedBuffer(room_per_slot_ * slots);
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
    if (rounds_) rounded = RoundedHeads(*kernels_, head_dim, value_dim, keys);
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

void PackedStore::copy(std::int64_t sequence, const KeyValueStore& from, std::int64_t of,
                       std::int64_t tokens) {
  const auto& other = static_cast<const PackedStore&>(from);
  const bool rounds = rounded.bytes() > 0;
  const std::int64_t count = round_up(tokens, rounds ? kCacheBlock : panel);
  for (std::int64_t head = 0; head < key_heads; ++head) {
    const std::int64_t to = (sequence * key_heads + head) * capacity;
    const std::int64_t at = (of * key_heads + head) * other.capacity;
    if (rounds) {
      rounded.copy(to, other.rounded, at, count);
      heads.copy(to / capacity * kCacheBlock, other.heads, at / other.capacity * kCacheBlock,
                 kCacheBlock);
    } else if (row_bytes == 0) {
      heads.copy(to, other.heads, at, count);
    } else {
      std::memcpy(reinterpret_cast<char*>(rows.data()) + to * row_bytes,
                  reinterpret_cast<const char*>(other.rows.data()) + at * row_bytes,
                  static_cast<std::size_t>(tokens * row_bytes));
    }
  }
}

std::unique_ptr<PackedStore> StreamingAttention::make_store(const Executor& executor,
                                                            std::int64_t sequences,
                                                            std::int64_t capacity) const {
  auto store = std::make_unique<PackedStore>();
  store->capacity = round_up(capacity, rounds_ ? kCacheBlock : panel_);
  store->key_heads = shape_.key_heads();
  store->panel = panel_;
  const std::int64_t pairs = sequences * shape_.key_heads();
  if (shape_.values_in_keys()) {
    store->rows = stored_buffer(dtype_, pairs * store->capacity * shape_.head_dim());
    store->row_bytes = bytes_of(dtype_, shape_.head_dim());
  } else {
    const std::int64_t keys = rounds_ ? kCacheBlock : store->capacity;
    store->heads = PackedHeads(*kernels_, dtype_, shape_.head_dim(), shape_.head_value_dim(),
                               pairs * keys, !rounds_);
    if (rounds_) {
      store->rounded = RoundedHeads(*kernels_, shape_.head_dim(), shape_.head_value_dim(),
                                    pairs * store->capacity);
    }
    auto zero = [&](std::int64_t pair, int) {
      store->heads.zero(pair * keys, keys);
      if (rounds_) store->rounded.zero(pair * store->capacity, store->capacity);
    };
    executor.run(pairs, zero);
  }
  store->preparation = HeadPreparation(shape_, capacity, kernels_->normalise_rows);
  // Threads share the segments of a head only where heads are few and its rows are one tile.
  if (executor.slots() > 1 && capacity > kSegment) {
    store->states = AlignedBuffer(
        std::min(pairs, kManyHeads * executor.slots()) * divide_up(capacity, kSegment) *
        attend_state_floats(kernels_->tile_rows, kernels_->lanes, shape_.head_value_dim()));
  }
  return store;
}

std::int64_t StreamingAttention::tile_height(std::int64_t rows) const {
  return tiles_.attends(rows) ? kTileBlock : kernels_->tile_rows;
}

std::int64_t StreamingAttention::tiles_per_task(std::int64_t rows) const {
  return tiles_.attends(rows) ? kTilesPerCut : kTilesPerTask;
}

void StreamingAttention::attend(AttendTask& task) const {
  if (rounds_) {
    kernels_->rounded->attend(task);
  } else if (task.new_keys.data != nullptr) {
    kernels_->f32.attend(task);
  } else if (tiles_.attends(task.rows)) {
    tiles_.kernels->attend({task, kernels_, dtype_});
  } else {
    kernels_->stored(dtype_).attend(task);
  }
}

// At half the rate of products, and less for short heads; or as fast as keys and values come from
// an L3, where rows are few.
double StreamingAttention::expected_seconds(std::span<const Sequence> sequences) const {
  constexpr double kFlopsPerLane = 4e9;
  constexpr double kBytesPerSecond = 40e9;
  constexpr double kSecondsPerRow = 50e-9;
  double seconds = 0;
  for (const Sequence& sequence : sequences) {
    const auto rows = static_cast<double>(sequence.rows);
    double keys = static_cast<double>(sequence.keys());
    if (shape_.causal) keys -= (rows - 1) / 2;
    if (shape_.window > 0) keys = std::min(keys, static_cast<double>(shape_.window));
    if (shape_.chunk > 0) keys = std::min(keys, static_cast<double>(shape_.chunk));
    const double flops =
        2 * rows * keys * static_cast<double>(shape_.d_out + shape_.context_width());
    const double bytes = 4 * keys * static_cast<double>(shape_.kv_width() + shape_.value_width());
    seconds += std::max(flops / (kFlopsPerLane * static_cast<double>(kernels_->lanes)),
                        bytes / kBytesPerSecond) +
               rows * static_cast<double>(shape_.heads) * kSecondsPerRow;
  }
  return seconds;
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

// New keys are prepared and packed; the queries of the group are prepared on the way.
void StreamingAttention::append(const Run& run, std::int64_t pair, const Place& head, int slot) {
  const std::int64_t key_heads = shape_.key_heads();
  const Sequence& sequence = run.call.sequences[static_cast<std::size_t>(pair / key_heads)];
  const std::int64_t key_head = pair % key_heads;
  const AttendCall& call = run.call;
  const HeadPreparation& preparation = run.store != nullptr ? run.store->preparation : preparation_;
  preparation.keys(call, sequence, key_head);
  for (std::int64_t h = key_head * group_; h < (key_head + 1) * group_; ++h) {
    preparation.queries(call, sequence, h);
  }
  if (rounds_) {
    append_rounded(run, sequence, key_head, head, room_.data() + slot * room_per_slot_);
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
  task.scale = static_cast<float>(std::numbers::log2e * shape_.score_scale());
  task.cap = cap_;
  if (cap_.any()) task.scale = 1;
  if (call.mask.any()) add_mask(task, call.mask_of(sequence, first_head));
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
  if (!mask.is_given() && at_once) {
    task.distances = mask.by_distance;
    task.distance_scale = static_cast<float>(1 / shape_.score_scale());
    return;
  }
  task.mask = mask;
  task.adds_at_once =
      at_once && mask.seen == nullptr && mask.by_distance == nullptr && mask.key_stride == 1;
  if (!task.only_hides()) task.rule_scale = std::exchange(task.scale, 1.0F);
}

namespace {

// @param most tiles of a task
// @return whether there is such a part
bool take_part(AttendTask& task, std::int64_t most, std::int64_t part) {
  const std::int64_t parts = divide_up(task.tiles, most);
  if (part >= parts) return false;
  const std::int64_t tiles = divide_up(task.tiles, parts);
  task.tile_begin = std::min(part * tiles, task.tiles);
  task.tile_end = std::min(task.tile_begin + tiles, task.tiles);
  return task.tile_begin < task.tile_end;
}

}  // namespace

// Each key is read by one tile alone, as it lies. Sums are of floats, so what is stored as another
// dtype must have it already.
bool StreamingAttention::reads_in_place(const Run& run) const {
  return room_.size() > 0 && !rounds_ && preparation_.empty() &&
         run.rows * group_ <= kernels_->tile_rows && run.call.k.dtype == dtype_ &&
         run.call.v.dtype == dtype_;
}

void StreamingAttention::run_in_place(const Executor& executor, const Run& run) {
  auto head = [&](std::int64_t pair, int slot) {
    const Sequence& sequence =
        run.call.sequences[static_cast<std::size_t>(pair / shape_.key_heads())];
    const std::int64_t key_head = pair % shape_.key_heads();
    AttendTask task = task_of(run, pair, {}, slot);
    const RowsOf keys{run.call.k.at(sequence.first_key, key_head), run.call.k.dtype,
                      run.call.k.row_stride};
    const RowsOf values{run.call.v.at(sequence.first_key, key_head), run.call.v.dtype,
                        run.call.v.row_stride};
    task.tile_end = task.tiles = 1;
    if (run.call.any_order && task.distances == nullptr && task.head_dim % kernels_->lanes == 0 &&
        task.value_dim % kernels_->lanes == 0) {
      task.as_rows = true;
      task.adds_at_once = false;
      task.keys = keys.data;
      task.key_stride = keys.stride;
      task.values = values.data;
      task.value_stride = values.stride;
      kernels_->stored(dtype_).attend(task);
      return;
    }
    task.new_keys = keys;
    task.new_values = values;
    task.room = room_.data() + slot * room_per_slot_;
    kernels_->f32.attend(task);
  };
  executor.run(run.pairs, head, run.seconds);
}

// The keys of a head are still in the nearest caches when they are read.
void StreamingAttention::run_whole_heads(const Executor& executor, const Run& run) {
  auto head = [&](std::int64_t pair, int slot) {
    const Place keys = place(run, pair, slot);
    append(run, pair, keys, slot);
    AttendTask task = task_of(run, pair, keys, slot);
    const std::int64_t most = tiles_per_task(task.rows);
    for (std::int64_t part = 0; take_part(task, most, part); ++part) attend(task);
  };
  executor.run(run.pairs, head, run.seconds);
}

// A task is some rows of a head.
void StreamingAttention::run_tiles(const Executor& executor, const Run& run) {
  // A tile of the f32 kernels is the lower one, and ragged sequences may need both kinds.
  const std::int64_t lowest = std::min(tile_height(run.rows * group_), kernels_->tile_rows);
  const std::int64_t parts = divide_up(divide_up(run.rows * group_, lowest), kTilesPerTask);
  auto part = [&](std::int64_t index, int slot) {
    const std::int64_t pair = index / parts;
    AttendTask task = task_of(run, pair, place(run, pair, slot), slot);
    // Later rows see more keys. The largest tasks come first, to balance the load at the end.
    if (take_part(task, tiles_per_task(task.rows), parts - 1 - index % parts)) attend(task);
  };
  executor.run(run.pairs * parts, part, run.seconds);
}

// A task is a segment of a head's keys; then the states of its segments are merged.
void StreamingAttention::run_segments(const Executor& executor, const Run& run) {
  const std::int64_t state =
      attend_state_floats(kernels_->tile_rows, kernels_->lanes, shape_.head_value_dim());
  const std::int64_t most = divide_up(run.store->capacity, kSegment);
  std::int64_t first = most;
  std::int64_t end = 0;
  for (const Sequence& s : run.call.sequences) {
    const KeyRange of_first = visible_keys(mask_rule(shape_), s.position, s.keys());
    first = std::min(first, of_first.begin / kSegment);
    end = std::max(end, divide_up(s.keys(), kSegment));
  }
  const auto task_for = [&](std::int64_t pair, int slot) {
    AttendTask task = task_of(run, pair, place(run, pair, slot), slot);
    task.tile_end = 1;
    task.states = run.store->states.data() + pair * most * state;
    return task;
  };
  auto segment = [&](std::int64_t index, int slot) {
    AttendTask task = task_for(index / (end - first), slot);
    task.segment = first + index % (end - first);
    if (task.rows > 0 && task.segment * kSegment < task.key_count) attend(task);
  };
  executor.run(run.pairs * (end - first), segment, run.seconds);
  auto merge = [&](std::int64_t pair, int slot) {
    const AttendTask task = task_for(pair, slot);
    if (task.rows > 0) kernels_->merge_segments(task);
  };
  executor.run(run.pairs, merge, kPackShare * run.seconds);
}

void StreamingAttention::run(const Executor& executor, const AttendCall& call, PackedStore* store) {
  Run run{call, store, 0, expected_seconds(call.sequences), 0, false};
  run.pairs = static_cast<std::int64_t>(call.sequences.size()) * shape_.key_heads();
  for (const Sequence& sequence : call.sequences) run.rows = std::max(run.rows, sequence.rows);
  if (store == nullptr && reads_in_place(run)) {
    run_in_place(executor, run);
    return;
  }
  const int slots = executor.slots_for(run.seconds);
  if (run.pairs % slots == 0 || run.pairs >= kManyHeads * slots) {
    run_whole_heads(executor, run);
    return;
  }
  run.shared = true;
  bool one_tile = store != nullptr && store->states.size() > 0;
  std::int64_t first_key = 0;
  std::size_t index = 0;
  for (const Sequence& sequence : call.sequences) {
    one_tile = one_tile && sequence.rows * group_ <= kernels_->tile_rows;
    if (store == nullptr || rounds_) first_keys_[index++] = first_key;
    first_key += shape_.key_heads() * packed_keys(sequence);
  }
  // All keys are packed before any is read.
  auto pack = [&](std::int64_t pair, int slot) { append(run, pair, place(run, pair, slot), slot); };
  executor.run(run.pairs, pack, kPackShare * run.seconds);
  if (one_tile) {
    run_segments(executor, run);
  } else {
    run_tiles(executor, run);
  }
}

}  // namespace headroom::simd
