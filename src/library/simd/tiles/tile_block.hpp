// A tile of rows against a block of keys, by tile products.
#pragma once

#include "simd/tiles/tile_scores.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// Whether no row of a tile sees a key of the segment before the block.
HEADROOM_INLINE bool begins_state(const AttendTask& task, const Tile& rows, const KeyBlock& block) {
  return block.begin % kSegment == 0 || seen_keys(task, rows.row).begin >= block.begin;
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
        begins_(begins_state(task, of.rows, against)),
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
      if (begins_) {
        add_sums<true>(memory.sums, c);
      } else {
        add_sums<false>(memory.sums, c);
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

  /// @tparam kBegins to nothing: the same as to zeros, which may turn the sign of a zero
  template <bool kBegins>
  HEADROOM_INLINE void add_sums(const float* sums, std::int64_t c) {
    const std::int64_t cols = padded_cols(*task_);
    const std::int64_t width = cols - c < kTileBlock ? cols - c : kTileBlock;
    for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
      const Vec factor(factor_[r]);
      for (std::int64_t v = 0; v < width; v += kLanes) {
        float* out = tile.rows.state.out + r * cols + c + v;
        const float* more = sums + (r / kTileSide * 2 + v / kTileSide) * kSums +
                            r % kTileSide * kTileSide + v % kTileSide;
        if constexpr (kBegins) {
          store(out, load(more) + Vec(0.0F));
        } else {
          store(out, multiply_add(load(out), factor, load(more)));
        }
      }
    }
  }

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
      if (task_->changes_scores()) apply_rule_to_tile(*task_, tile.rows, block, scores_, factors_);
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
      const Vec before = begins_ ? Vec(kMinusInfinity) : load(state.max + r);
      const Vec here = max_or_second(load(most_ + r), before);
      const Vec factor = exp2((before - here) * scale);
      store(factor_ + r, xsimd::select(here > before, factor, Vec(1.0F)));
      // Rows that have seen only -inf keep a shift of 0, so that exp2(-inf) is 0 and not NaN.
      store(shift_ + r, xsimd::select(here == none, Vec(0.0F), Vec(0.0F) - here * scale));
      store(state.max + r, here);
    }
    for (std::int64_t r = 0; r < tile.rows.rows; ++r) {
      float* sum = state.sum + r * kLanes;
      store(sum, begins_ ? Vec(0.0F) : load(sum) * Vec(factor_[r]));
      if (is_far(shift_[r])) [[unlikely]]
        subtract_maximum(r);
    }
  }

  [[gnu::noinline]] void subtract_maximum(std::int64_t r) {
    const Vec most(tile.rows.state.max[r]);
    float* scores = score_row(scores_, r);
    for (std::int64_t k = keys.begin; k < keys.end; k += kLanes) {
      float* at = scores + score_of(k);
      store(at, load(at) - most);
    }
    shift_[r] = 0;
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
  bool begins_ = false;  ///< the tile's state over the segment, in which nothing is yet
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

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
