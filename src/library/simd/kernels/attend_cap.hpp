// A cap on scores: c tanh(s / c) of a score s, taken where scores become weights, so that no pass
// of its own loads and stores them. A row's maximum needs it once a block, as tanh rises.
//
// Few scores reach a fifth of a cap. Up to there it is s P(s^2) with three coefficients, to which
// the exponential adds two multiply-adds and a square; a pass over a row that asks for more has all
// cases. Which case a score is depends on the score alone.
#pragma once

#include "simd/kernels/attend_tile.hpp"
#include "simd/kernels/tanh.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

HEADROOM_INLINE Vec of_small(const ScoreCap& cap, const Vec& score) {
  const Vec z = score * score;
  const Vec p = multiply_add(Vec(cap.small_terms[2]), z, Vec(cap.small_terms[1]));
  return multiply_add(p, z, Vec(cap.small_terms[0]));
}

/// The capped score plus a shift, of scores up to `ScoreCap::small`; -inf, of hidden keys, stays,
/// as the last coefficient is above 0.
HEADROOM_INLINE Vec capped_small(const ScoreCap& cap, const Vec& score, const Vec& shift) {
  return multiply_add(score, of_small(cap, score), shift);
}

/// The same of any score.
HEADROOM_INLINE Vec capped(const ScoreCap& cap, const Vec& score, const Vec& shift) {
  const Vec small = capped_small(cap, score, shift);
  const Vec none(kMinusInfinity);
  const auto beyond = xsimd::abs(score) > Vec(cap.small) && score != none;
  if (!xsimd::any(beyond)) [[likely]]
    return small;
  const Vec large = Vec(cap.most) * tanh(score * Vec(cap.inverse)) + shift;
  // Hidden keys must not come back from -inf.
  return xsimd::select(score == none, none, xsimd::select(beyond, large, small));
}

/// A row's scores of a block, chunk by chunk.
struct ScoreRow {
  float* first;
  std::int64_t step;  ///< from a chunk to the next

  /// Calls `f` with where each vector's scores are, from key `begin` to below `end`.
  template <class F>
  HEADROOM_INLINE void for_vectors(std::int64_t begin, std::int64_t end, F&& f) const {
    float* chunk = first + begin / kChunk * step;
    std::int64_t within = kLanes < kChunk ? begin % kChunk : 0;
    for (std::int64_t k = begin; k < end; k += kLanes) {
      f(chunk + within);
      within += kLanes;
      if (within < kChunk) continue;
      within = 0;
      chunk += step;
    }
  }
};

/// Whether the sizes of all scores that a row may see are up to `ScoreCap::small`. Sums and their
/// signs run beside the exponentials of the row before on cores that add elsewhere than they
/// multiply; comparisons do not, so only where some row does not see a key they look for -inf.
/// @param max of the row's scores
HEADROOM_INLINE bool are_small(const ScoreCap& cap, ScoreRow row, const KeyBlock& block,
                               std::int64_t begin, std::int64_t end, float max) {
  if (max > cap.small) return false;
  constexpr std::uint32_t kSign = ~kMagnitude;
  constexpr std::uint32_t kOne = 0x3f800000U;
  const std::int64_t seen = clamp((block.common_begin + kLanes - 1) / kLanes * kLanes, begin, end);
  const std::int64_t seen_end = clamp(block.common_end / kLanes * kLanes, seen, end);
  const Vec small(cap.small);
  const Vec none(kMinusInfinity);
  Bits signs{};
  const auto see = [&](const Vec& score) __attribute__((always_inline)) {
    signs |= bits_of(score + small);
  };
  const auto see_some = [&](const float* scores) __attribute__((always_inline)) {
    const Vec score = load(scores);
    see(xsimd::select(score == none, Vec(0.0F), score));
  };
  row.for_vectors(begin, seen, see_some);
  row.for_vectors(
      seen,
      seen_end, [&](const float* scores) __attribute__((always_inline)) { see(load(scores)); });
  row.for_vectors(seen_end, end, see_some);
  return !xsimd::any(vec_of((signs & kSign) | kOne) < Vec(0.0F));
}

/// Whether no score counts that is not small, so that nobody has to look: those above the range are
/// none, and those below it are so far from the row's maximum that the error there is lost.
/// @param block_max the row's largest score of the block; @param max of its capped ones so far
HEADROOM_INLINE bool no_large_counts(const ScoreCap& cap, float block_max, float max) {
  return block_max <= cap.small && max >= cap.far_above;
}

/// The maxima of the capped scores, from those of the scores; both have whole vectors.
[[gnu::noinline]] inline void cap_maxima(const ScoreCap& cap, const float* max, std::int64_t count,
                                         float* to) {
  for (std::int64_t r = 0; r < count; r += kLanes) {
    store(to + r, capped(cap, load(max + r), Vec(0.0F)));
  }
}

/// Scores become weights, exp2 of their exponents.
/// @return their sum, added to another
template <class Exponent>
HEADROOM_INLINE Vec weigh_scores(ScoreRow row, std::int64_t begin, std::int64_t end, Vec sum,
                                 const Exponent& exponent) {
  row.for_vectors(
      begin, end, [&](float* scores) __attribute__((always_inline)) {
        const Vec weight = exp2(exponent(load(scores)));
        store(scores, weight);
        sum += weight;
      });
  return sum;
}

HEADROOM_INLINE void weigh_small(const ScoreCap& cap, ScoreRow row, std::int64_t begin,
                                 std::int64_t end, const Vec& shift, float* sum) {
  const auto exponent = [&cap, shift ](const Vec& score) __attribute__((always_inline)) {
    return capped_small(cap, score, shift);
  };
  store(sum, weigh_scores(row, begin, end, load(sum), exponent));
}

/// Of a row whose scores have to be looked at.
/// @param max of the row's scores of the block
[[gnu::noinline]] inline void weigh_any(const ScoreCap& cap, ScoreRow row, const KeyBlock& block,
                                        KeyRange keys, float max, float shift, float* sum) {
  if (are_small(cap, row, block, keys.begin, keys.end, max)) {
    return weigh_small(cap, row, keys.begin, keys.end, Vec(shift), sum);
  }
  const auto exponent = [&](const Vec& score) __attribute__((always_inline)) {
    return capped(cap, score, Vec(shift));
  };
  store(sum, weigh_scores(row, keys.begin, keys.end, load(sum), exponent));
}

/// Scores of all rows of a tile become weights, and are added to the rows' sums.
/// @param block_max of the rows' scores of the block
[[gnu::noinline]] inline void weigh_capped(const AttendTask& task, const Tile& tile,
                                           const KeyBlock& block, float* scores,
                                           const float* block_max) {
  const ScoreCap cap = task.cap;  // a copy, which no store of weights can change
  const std::int64_t begin = block.first / kLanes * kLanes;
  const std::int64_t end = (block.count + kLanes - 1) / kLanes * kLanes;
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const ScoreRow row{scores + r * kChunk, tile.rows * kChunk};
    float* sum = tile.state.sum + r * kLanes;
    const float shift = -shift_of(tile.state.max[r]);
    if (!no_large_counts(cap, block_max[r], tile.state.max[r])) [[unlikely]] {
      weigh_any(task.cap, row, block, {begin, end}, block_max[r], shift, sum);
      continue;
    }
    weigh_small(cap, row, begin, end, Vec(shift), sum);
  }
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
