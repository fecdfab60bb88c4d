// How a call is cut into tasks: whole heads, their tiles of rows, or segments of their keys.
#include <algorithm>
#include <limits>

#include "core/rounding.hpp"
#include "simd/attend.hpp"

namespace headroom::simd {
namespace {

// Packing keys costs about this share of the attention of short sequences.
constexpr double kPackShare = 0.1;

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

// Each key is read by one tile alone, as it lies. Sums are of floats, so what is stored as another
// dtype must have it already.
bool StreamingAttention::reads_in_place(const Run& run) const {
  return room_.size() > 0 && !rounds_ && preparation_.empty() &&
         run.rows * group_ <= kernels_->tile_rows && run.call.k.dtype == dtype_ &&
         run.call.v.dtype == dtype_;
}

// The states of all segments of a head become its rows.
// @param task_for of a pair, as for its segments
template <class TaskFor>
void StreamingAttention::merge_states(const Executor& executor, const Run& run,
                                      const TaskFor& task_for) const {
  auto merge = [&](std::int64_t pair, int slot) {
    const AttendTask task = task_for(pair, slot);
    if (task.rows > 0) kernels_->merge_segments(task);
  };
  executor.run(run.pairs, merge, kPackShare * run.seconds);
}

AttendTask StreamingAttention::task_in_place(const Run& run, std::int64_t pair, int slot) {
  const Sequence& sequence = sequence_of(run, pair);
  const std::int64_t key_head = pair % shape_.key_heads();
  AttendTask task = task_of(run, pair, {}, slot);
  const RowsOf keys{run.call.k.at(sequence.first_key, key_head), run.call.k.dtype,
                    run.call.k.row_stride};
  const RowsOf values{run.call.v.at(sequence.first_key, key_head), run.call.v.dtype,
                      run.call.v.row_stride};
  task.tile_end = task.tiles = 1;
  task.as_rows = run.call.any_order && task.distances == nullptr &&
                 task.head_dim % kernels_->lanes == 0 && task.value_dim % kernels_->lanes == 0;
  if (task.as_rows) {
    task.adds_at_once = false;
    task.ahead.into_l1 = false;  // a whole block ahead: too much for the L1
    task.keys = keys.data;
    task.key_stride = keys.stride;
    task.values = values.data;
    task.value_stride = values.stride;
  } else {
    task.new_keys = keys;
    task.new_values = values;
    task.room = room_.data() + slot * room_per_slot_;
  }
  return task;
}

void StreamingAttention::attend_in_place(AttendTask& task) const {
  (task.as_rows ? kernels_->stored(dtype_) : kernels_->f32).attend(task);
}

// Keys of a head that follow each other are read from end to end. Heads side by side lie on the
// same pages of memory, so a segment of all heads is read before the next one (Zen 4, after 32,768
// tokens: 1.5 to 1.9 times as fast).
void StreamingAttention::run_in_place(const Executor& executor, const Run& run) {
  const KeyRange segments = seen_segments(run);
  const std::int64_t count = segments.end - segments.begin;
  const std::int64_t states_of_pair = segments.end * state_floats();
  if (count < 2 || states_.size() < run.pairs * states_of_pair ||
      run.call.k.row_stride == shape_.head_dim()) {
    auto head = [&](std::int64_t pair, int slot) {
      AttendTask task = task_in_place(run, pair, slot);
      attend_in_place(task);
    };
    executor.run(run.pairs, head, run.seconds);
    return;
  }
  const auto task_for = [&](std::int64_t pair, int slot) {
    AttendTask task = task_in_place(run, pair, slot);
    task.states = states_.data() + pair * states_of_pair;
    return task;
  };
  auto segment = [&](std::int64_t index, int slot) {
    AttendTask task = task_for(index % run.pairs, slot);
    task.segment = segments.begin + index / run.pairs;
    if (task.rows > 0 && task.segment * kSegment < task.key_count) attend_in_place(task);
  };
  executor.run(run.pairs * count, segment, run.seconds);
  merge_states(executor, run, task_for);
}

// Whether tiles cut the keys of a head from its rows: where nobody keeps them packed, and only one
// task reads them. For more tasks floats would be transposed as often, and come from the L3.
bool StreamingAttention::cuts_rows(const Run& run, std::int64_t pair) const {
  const std::int64_t rows = sequence_of(run, pair).rows * group_;
  return run.store == nullptr && tiles_.attends(rows) &&
         (dtype_ == Dtype::bf16 || rows <= kTileBlock * tiles_per_task(rows));
}

// In place of packing keys. Values of the dtype that is stored are read where they lie, unless a
// vector of them would reach into the next row.
InputRows StreamingAttention::append_cut(const Run& run, std::int64_t pair, Place& head) const {
  const Sequence& sequence = sequence_of(run, pair);
  const std::int64_t key_head = pair % shape_.key_heads();
  const AttendCall& call = run.call;
  prepare(run, pair);
  if (call.v.dtype == dtype_ && shape_.head_value_dim() % kernels_->lanes == 0) {
    head.values = nullptr;
  }
  slot_heads_.append_values(head, 0, sequence.new_keys, call.v, sequence.first_key, key_head);
  return {call.k.at(sequence.first_key, key_head), call.k.dtype, dtype_ == Dtype::bf16,
          call.k.row_stride};
}

// The keys of a head are still in the nearest caches when they are read.
void StreamingAttention::run_whole_heads(const Executor& executor, const Run& run) {
  auto head = [&](std::int64_t pair, int slot) {
    Place keys = place(run, pair, slot);
    InputRows rows;
    if (cuts_rows(run, pair)) {
      rows = append_cut(run, pair, keys);
    } else {
      append(run, pair, keys);
    }
    AttendTask task = task_of(run, pair, keys, slot);
    const std::int64_t most = tiles_per_task(task.rows);
    for (std::int64_t part = 0; take_part(task, most, part); ++part) attend(task, rows, keys.keys);
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

// The segments that some row of the call sees.
KeyRange StreamingAttention::seen_segments(const Run& run) const {
  KeyRange segments{std::numeric_limits<std::int64_t>::max(), 0};
  for (const Sequence& s : run.call.sequences) {
    const KeyRange of_first = visible_keys(mask_rule(shape_), s.position, s.keys());
    segments.begin = std::min(segments.begin, of_first.begin / kSegment);
    segments.end = std::max(segments.end, divide_up(s.keys(), kSegment));
  }
  return segments;
}

// A task is a segment of a head's keys; then the states of its segments are merged.
void StreamingAttention::run_segments(const Executor& executor, const Run& run) {
  const KeyRange segments = seen_segments(run);
  const std::int64_t count = segments.end - segments.begin;
  const auto task_for = [&](std::int64_t pair, int slot) {
    AttendTask task = task_of(run, pair, place(run, pair, slot), slot);
    task.tile_end = task.tiles;
    task.states = run.store->states.data() + pair * states_of_head(run.store->capacity);
    return task;
  };
  auto segment = [&](std::int64_t index, int slot) {
    AttendTask task = task_for(index / count, slot);
    task.segment = segments.begin + index % count;
    if (task.rows == 0 || task.segment * kSegment >= task.key_count) return;
    for (std::int64_t part = 0; take_part(task, kTilesPerTask, part); ++part) attend(task);
  };
  executor.run(run.pairs * count, segment, run.seconds);
  merge_states(executor, run, task_for);
}

// Whether threads share the segments of each head, whose states the store has room for.
bool StreamingAttention::shares_segments(const Run& run) const {
  if (run.store == nullptr || run.store->states.size() == 0) return false;
  const std::int64_t most = tiles_of_step() * kernels_->tile_rows;
  return std::ranges::all_of(run.call.sequences, [&](const Sequence& sequence) {
    const std::int64_t rows = sequence.rows * group_;
    return rows <= most && !tiles_.attends(rows);
  });
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
  std::int64_t first_key = 0;
  std::size_t index = 0;
  for (const Sequence& sequence : call.sequences) {
    if (store == nullptr || rounds_) first_keys_[index++] = first_key;
    first_key += shape_.key_heads() * packed_keys(sequence);
  }
  // All keys are packed before any is read.
  auto pack = [&](std::int64_t pair, int slot) { append(run, pair, place(run, pair, slot)); };
  executor.run(run.pairs, pack, kPackShare * run.seconds);
  if (shares_segments(run)) {
    run_segments(executor, run);
  } else {
    run_tiles(executor, run);
  }
}

}  // namespace headroom::simd
