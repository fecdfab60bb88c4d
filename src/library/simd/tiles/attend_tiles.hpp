// Streaming softmax attention by tile products of parts. Masks, segments and the merge of their
// states are those of the f32 kernels; a tile is 32 rows, two tiles of sums one below the other.
#pragma once

#include "simd/tiles/attend_operands.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// The keys of a block that a tile's products take: whole 32s.
struct KeySteps {
  std::int64_t begin, end;
};
HEADROOM_INLINE KeySteps steps_of(const KeyBlock& block) {
  return {block.first / kTileDepth * kTileDepth, whole(block.count, kTileDepth)};
}

HEADROOM_INLINE float* score_row(float* scores, std::int64_t r) {
  return scores + r / kTileSide * kTileSide * kKeyBlock + r % kTileSide * kTileSide;
}
/// Where in its row the score of key `k` is kept.
HEADROOM_INLINE std::int64_t score_of(std::int64_t k) {
  return k / kTileSide * kSums + k % kTileSide;
}

/// As exact as the weights are kept.
template <Precision P>
HEADROOM_INLINE Vec exp2_for(const Vec& x) {
  return exp2_of_degree < P == Precision::bf16 ? 3 : 5 > (x);
}

/// What rows must not see becomes -inf, in those vectors of keys that some row does not see.
HEADROOM_INLINE void mask_tile(const AttendTask& task, const Tile& rows, const KeyBlock& block,
                               float* scores) {
  const KeySteps keys = steps_of(block);
  if (block.common_begin <= keys.begin && block.common_end >= keys.end) return;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const KeyRange seen = seen_keys(task, rows.row + r);
    float* row = score_row(scores, r);
    for (std::int64_t k = keys.begin; k < keys.end; k += kLanes) {
      if (all_seen<1>(block, k)) continue;
      float* at = row + score_of(k);
      const std::int64_t lane = block.begin + k;
      store(at, only_between(load(at), seen.begin - lane, seen.end - lane));
    }
  }
}

/// Maxima are found later. @param room for a block of keys
[[gnu::noinline]] inline void apply_rule_to_tile(const AttendTask& task, const Tile& rows,
                                                 const KeyBlock& block, float* scores,
                                                 float* room) {
  const KeySteps keys = steps_of(block);
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    float* row = score_row(scores, r);
    apply_rule(task, rows.row + r, block, keys.begin, keys.end, room, 0,
               [&](std::int64_t k) { return row + score_of(k); });
  }
}

HEADROOM_INLINE void draw_factors(const AttendTask& task, std::int64_t row, const KeyBlock& block,
                                  float* factors) {
  const std::uint64_t index =
      dropout_row(task.dropout_head + row % task.group, task.position + row / task.group);
  task.dropout->factors(index, block.begin, block.count, factors);
  for (std::int64_t k = block.count; k % kTileDepth != 0; ++k) factors[k] = 0;
}

/// A tile against a block of keys: its scores become weights, in pieces that run between the tile
/// products of its neighbours, since those leave the vector units idle.
template <class S>
class TileBlock {
 public:
  static constexpr bool kAhead = false;  // slower here

  TileBlock() = default;
  HEADROOM_INLINE TileBlock(const AttendTask& task, const TileRows& of, const KeyBlock& against,
                            const AttendMemory& memory, int turn)
      : tile(of),
        block(against),
        keys(steps_of(against)),
        task_(&task),
        factors_(memory.factors),
        scores_(memory.scores[turn]),
        weights_(memory.weights[turn]) {}

  TileRows tile;
  KeyBlock block;
  KeySteps keys;

  /// Of so many products that `next` is called between.
  HEADROOM_INLINE void start(std::int64_t calls) {
    calls_ = calls;
    pieces_ =
        kMaxima + kTileBlock * ((keys.end + kPieceKeys - 1) / kPieceKeys - keys.begin / kPieceKeys);
    piece_ = due_ = 0;
    row_ = 0;
    key_ = keys.begin;
  }
  HEADROOM_INLINE void next() {
    due_ += pieces_;
    while (due_ >= calls_) {
      due_ -= calls_;
      do_piece();
    }
  }
  HEADROOM_INLINE void finish() {
    while (piece_ < kMaxima || row_ < kTileBlock) do_piece();
  }

  template <class Unit, class Beside>
  HEADROOM_INLINE void score(const AttendMemory& memory, Beside& beside) {
    const std::int64_t depth = whole(task_->head_dim, kTileDepth);
    Operands of;
    of.a = tile.queries;
    of.steps = depth / kTileDepth;
    of.rows = tile.rows.rows;
    for (std::int64_t k = keys.begin; k < keys.end; k += kTileBlock) {
      of.b = memory.keys + k * depth * S::kRight;
      for (int i = 0; i < 4; ++i) {
        of.sums[i / 2][i % 2] =
            scores_ + i / 2 * kTileSide * kKeyBlock + (k / kTileSide + i % 2) * kSums;
      }
      Unit::template multiply<S>(of, beside);
    }
  }
  HEADROOM_INLINE std::int64_t score_calls() const {
    return (keys.end - keys.begin) / kTileBlock *
           (whole(task_->head_dim, kTileDepth) / kTileDepth) * S::kProducts;
  }

  /// Adds the weighted values to the tile's output.
  template <class Unit, class Beside>
  HEADROOM_INLINE void add_values(const AttendMemory& memory, Beside& beside) {
    const std::int64_t cols = padded_cols(*task_);
    const std::int64_t step = keys.begin / kTileDepth;
    Operands of;
    of.a = weights_ + step * S::kLeft * kLeftStep;
    of.rows = tile.rows.rows;
    of.steps = keys.end / kTileDepth - step;
    for (int i = 0; i < 4; ++i) of.sums[i / 2][i % 2] = memory.sums + i * kSums;
    for (std::int64_t c = 0; c < cols; c += kTileBlock) {
      of.b = memory.values + (c * kKeyBlock + step * kRightStep) * S::kRight;
      Unit::template multiply<S>(of, beside);
      const std::int64_t width = cols - c < kTileBlock ? cols - c : kTileBlock;
      for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
        const Vec factor(factor_[r]);
        for (std::int64_t v = 0; v < width; v += kLanes) {
          float* out = tile.rows.state.out + r * cols + c + v;
          const float* more = memory.sums + (r / kTileSide * 2 + v / kTileSide) * kSums +
                              r % kTileSide * kTileSide + v % kTileSide;
          store(out, multiply_add(load(out), factor, load(more)));
        }
      }
    }
  }
  HEADROOM_INLINE std::int64_t value_calls() const {
    return (keys.end - keys.begin) / kTileDepth *
           (whole(padded_cols(*task_), kTileBlock) / kTileBlock) * S::kProducts;
  }

 private:
  static constexpr std::int64_t kGroup = 4;  // rows of a piece of maxima: independent chains
  static constexpr std::int64_t kMaxima = kTileBlock / kGroup;
  // Keys of a row: the more products lie between, the finer the pieces that fit (measured).
  // So one precision has one order of sums, however keys are stored.
  static constexpr std::int64_t kPieceKeys = S::kPrecision == Precision::bf16     ? 256
                                             : S::kPrecision == Precision::bf16x3 ? 128
                                                                                  : 32;

  [[gnu::noinline]] void do_piece() {
    if (piece_ < kMaxima) {
      find_maxima(piece_ * kGroup);
      if (++piece_ == kMaxima) raise();
      return;
    }
    if (row_ >= kTileBlock) return;
    const std::int64_t whole_end = (key_ / kPieceKeys + 1) * kPieceKeys;
    const std::int64_t end = whole_end < keys.end ? whole_end : keys.end;
    if (row_ >= tile.rows.rows) {
      clear(end);
    } else {
      if (task_->caps_weights()) {
        weigh_with(
            end, [cap = task_->cap](const Vec& score, const Vec& shift)
                     __attribute__((always_inline)) { return capped(cap, score, shift); });
      } else {
        weigh_with(
            end, [scale = Vec(task_->scale)](const Vec& score, const Vec& shift)
                     __attribute__((always_inline)) { return multiply_add(score, scale, shift); });
      }
    }
    key_ = end;
    if (key_ < keys.end) return;
    key_ = keys.begin;
    ++row_;
  }

  HEADROOM_INLINE void find_maxima(std::int64_t r) {
    if (r == 0) {
      mask_tile(*task_, tile.rows, block, scores_);
      if (task_->mask.any()) apply_rule_to_tile(*task_, tile.rows, block, scores_, factors_);
    }
    Vec most[kGroup];
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i) most[i] = Vec(kMinusInfinity);
    float* scores = score_row(scores_, r) + score_of(keys.begin);
    for (std::int64_t k = keys.begin; k < keys.end; k += kTileSide, scores += kSums) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < kTileSide; v += kLanes) {
#pragma GCC unroll 4
        for (int i = 0; i < kGroup; ++i) {
          most[i] = max_or_second(most[i], load(scores + i * kTileSide + v));
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kGroup; ++i) most_[r + i] = max_lanes(most[i]);
  }

  /// Merges the maxima of the block into the running ones.
  HEADROOM_INLINE void raise() {
    const TileState& state = tile.rows.state;
    if (task_->caps_weights()) cap_maxima(task_->cap, most_, kTileBlock, most_);
    const Vec scale(task_->scale);
    const Vec none(kMinusInfinity);
    for (std::int64_t r = 0; r < tile.rows.rows; r += kLanes) {
      const Vec before = load(state.max + r);
      const Vec here = max_or_second(load(most_ + r), before);
      const Vec factor = exp2((before - here) * scale);
      store(factor_ + r, xsimd::select(here > before, factor, Vec(1.0F)));
      // Rows that have seen only -inf keep a shift of 0, so that exp2(-inf) is 0 and not NaN.
      store(shift_ + r, xsimd::select(here == none, Vec(0.0F), Vec(0.0F) - here * scale));
      store(state.max + r, here);
    }
    for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
      float* sum = state.sum + r * kLanes;
      store(sum, load(sum) * Vec(factor_[r]));
    }
  }

  /// @param exponent of two, from a score and the row's shift
  template <class Exponent>
  HEADROOM_INLINE void weigh_with(std::int64_t end, const Exponent& exponent) {
    if (task_->dropout == nullptr) {
      weigh<false>(end, exponent);
      return;
    }
    if (key_ == keys.begin) draw_factors(*task_, tile.rows.row + row_, block, factors_);
    weigh<true>(end, exponent);
  }

  /// Some scores of a row become weights, are added to its sum, and are cut into parts.
  template <bool kDropout, class Exponent>
  HEADROOM_INLINE void weigh(std::int64_t end, const Exponent& exponent) {
    const float* scores = score_row(scores_, row_);
    std::uint16_t* out = weights_ + row_ * kTileDepth;
    const Vec shift(shift_[row_]);
    float* sum = tile.rows.state.sum + row_ * kLanes;
    Vec sums[2] = {load(sum), Vec(0.0F)};
    const float* from = scores + score_of(key_);
    std::uint16_t* to = out + key_ / kTileDepth * S::kLeft * kLeftStep;
    for (std::int64_t step = key_; step < end; step += kTileDepth) {
#pragma GCC unroll 8
      for (std::int64_t k = 0; k < kTileDepth; k += 2 * kLanes) {
        Vec weights[2];
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const std::int64_t key = k + i * kLanes;
          weights[i] = exp2_for<S::kPrecision>(exponent(load(from + score_of(key)), shift));
          sums[i] += weights[i];
          if (kDropout) weights[i] = weights[i] * load(factors_ + step + key);
        }
        TwoHalves parts[S::kLeft];
        cut_neighbours<S::kPrecision>(weights[0], weights[1], parts);
#pragma GCC unroll 3
        for (int p = 0; p < S::kLeft; ++p) {
          __builtin_memcpy(to + p * kLeftStep + k, &parts[p], sizeof(parts[p]));
        }
      }
      from += kTileDepth / kTileSide * kSums;
      to += S::kLeft * kLeftStep;
    }
    store(sum, sums[0] + sums[1]);
  }

  HEADROOM_INLINE void clear(std::int64_t end) {
    const float* none = nullptr;
    cut_row<S::kPrecision>(none, 0, (end - key_) / kTileDepth, row_,
                           weights_ + key_ / kTileDepth * S::kLeft * kLeftStep);
  }

  const AttendTask* task_ = nullptr;
  float* factors_ = nullptr;
  float* scores_ = nullptr;
  std::uint16_t* weights_ = nullptr;
  std::int64_t calls_ = 1, due_ = 0;
  std::int64_t piece_ = 0, pieces_ = 0;
  std::int64_t row_ = 0, key_ = 0;
  alignas(64) float most_[kTileBlock];
  alignas(64) float shift_[kTileBlock];   ///< -maximum * scale
  alignas(64) float factor_[kTileBlock];  ///< of what was summed before
};

HEADROOM_INLINE void mark_rows(const AttendTask& task, const TileRows& tile, const KeyBlock& block,
                               const unsigned char* skip) {
  for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
    const KeyRange seen = seen_keys(task, tile.rows.row + r);
    const std::int64_t begin = clamp(seen.begin - block.begin, block.first, block.count);
    const std::int64_t end = clamp(seen.end - block.begin, block.first, block.count);
    for (std::int64_t k = begin; k < end; ++k) tile.bad[r] |= skip[k];
  }
}

HEADROOM_INLINE KeyBlock task_block(const AttendTask& task, std::int64_t begin) {
  Tile rows;
  rows.row = tile_begin(task.rows, task.tiles, task.tile_begin);
  rows.rows = tile_begin(task.rows, task.tiles, task.tile_end) - rows.row;
  return see_block(task, rows, begin);
}

/// All tiles against a block of keys. While the scores of one become weights, the next one's
/// scores and the last one's values are multiplied.
template <class S, class Unit>
HEADROOM_INLINE void attend_tile_block(const AttendTask& task, const AttendMemory& memory,
                                       std::int64_t begin, bool bad) {
  TileBlock<S> tiles[2];
  Nothing nothing;
  std::int64_t count = 0;
  for (std::int64_t t = task.tile_begin; t <= task.tile_end; ++t) {
    const int turn = static_cast<int>(count % 2);
    TileBlock<S>& here = tiles[turn];
    TileBlock<S>& before = tiles[1 - turn];
    const bool last = t == task.tile_end;
    if (last) {
      if (count == 0) return;
      // `here` is two tiles back, or none.
      before.start(count > 1 ? here.value_calls() : 1);
      if (count > 1) here.template add_values<Unit>(memory, before);
      before.finish();
      before.template add_values<Unit>(memory, nothing);
      return;
    }
    const TileRows tile = tile_of(task, memory, t);
    const KeyBlock block = see_block(task, tile.rows, begin);
    if (block.first >= block.count) continue;
    if (bad) mark_rows(task, tile, block, memory.skip);
    const TileBlock<S> next(task, tile, block, memory, turn);
    if (count == 0) {
      here = next;
      here.template score<Unit>(memory, nothing);
    } else {
      before.start((count > 1 ? here.value_calls() : 0) + next.score_calls());
      if (count > 1) here.template add_values<Unit>(memory, before);
      here = next;
      here.template score<Unit>(memory, before);
      before.finish();
    }
    ++count;
  }
}

template <class S, class Unit, class B>
HEADROOM_INLINE void attend_tile_segment(const AttendTask& task, const AttendMemory& memory,
                                         std::int64_t segment) {
  const std::int64_t end = (segment + 1) * kSegment;
  for (std::int64_t begin = segment * kSegment; begin < end; begin += kKeyBlock) {
    const KeyBlock seen = task_block(task, begin);
    if (seen.first >= seen.count) continue;
    const bool bad_keys = cut_keys<S, B>(task, seen, memory);
    const bool bad = cut_values<S, B>(task, seen, bad_keys, memory);
    attend_tile_block<S, Unit>(task, memory, begin, bad);
  }
}

/// Whether a row has no sum, or infinities or NaN, which parts may have made.
HEADROOM_INLINE bool is_doubtful_row(const AttendTask& task, const TileState& state,
                                     std::int64_t r) {
  const float sum = sum_lanes(load(state.sum + r * kLanes));
  if (!(sum > 0 && sum < __builtin_inff())) return true;
  const float* out = state.out + r * padded_cols(task);
  Bits most{};
  for (std::int64_t c = 0; c < padded_cols(task); c += kLanes) {
    const Bits size = bits_of(load(out + c)) & kMagnitude;
    most = size > most ? size : most;
  }
  return any_lane(most >= kInfinityBits);
}

/// One row by the f32 kernels.
HEADROOM_INLINE void attend_exactly(const TileAttendTask& whole_task, std::int64_t row,
                                    float* scratch) {
  AttendTask exact = whole_task.task;
  exact.tiles = exact.rows;
  exact.tile_begin = row;
  exact.tile_end = row + 1;
  exact.scratch = scratch;
  whole_task.f32->stored(whole_task.dtype).attend(exact);
}

/// Of the rows from `row` on, as many as a tile has.
HEADROOM_INLINE void prefetch_output(const AttendTask& task, std::int64_t row) {
  const std::int64_t end = row + kTileBlock < task.rows ? row + kTileBlock : task.rows;
  for (; row < end; ++row) {
    const RowPlace at = place_of(task, row);
    const std::int64_t place = at.token * task.out_stride + at.head * task.out_head_stride;
    with_rows_of(
        {task.out, task.out_dtype, 0}, [&](const auto* first) __attribute__((always_inline)) {
          for (std::int64_t c = 0; c < task.value_dim; c += kChunk) {
            __builtin_prefetch(first + place + c, 1, 3);
          }
        });
  }
}

template <Precision P, class Unit>
void attend_tiles(const TileAttendTask& whole_task) {
  const AttendTask& task = whole_task.task;
  const AttendMemory memory = memory_of<P>(whole_task);
  const KeyRange segments = seen_segments(task);
  const bool single = segments.end - segments.begin == 1;
  const auto for_tiles = [&](auto&& work) __attribute__((always_inline)) {
    for (std::int64_t t = task.tile_begin; t < task.tile_end; ++t) {
      work(tile_of(task, memory, t));
    }
  };
  for_tiles([&](const TileRows& tile) { cut_queries<P>(task, tile); });
  {
    [[maybe_unused]] const typename Unit::Session session;
    for (std::int64_t s = segments.begin; s < segments.end; ++s) {
      for_tiles([&](const TileRows& tile) { clear_state(task, tile.rows); });
      if (whole_task.dtype == Dtype::f32) {
        attend_tile_segment<SchemeOf<P, float>, Unit, float>(task, memory, s);
      } else {
        attend_tile_segment<SchemeOf<P, Half>, Unit, Half>(task, memory, s);
      }
      if (single) break;
      for_tiles([&](const TileRows& tile) { merge_segment(task, tile.rows, tile.all, s); });
    }
  }
  for_tiles([&](const TileRows& tile) {
    prefetch_output(task, tile.rows.row + tile.rows.rows);
    const TileState& state = single ? tile.rows.state : tile.all;
    finish_tile(task, tile.rows, state);
    for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
      if (tile.bad[r] == 0 && !is_doubtful_row(task, state, r)) continue;
      attend_exactly(whole_task, tile.rows.row + r, memory.f32);
    }
  });
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
