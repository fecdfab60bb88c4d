// Queries, keys, values and attention weights as fp16 parts.
//
// What a row is given may follow from the keys that it sees, and from no others: its bits are the
// same whatever comes after them. So nothing is scaled by 32 columns together, as weights of a
// layer are:
//
// - Each query and each key has a power of two of its own; a score is divided by both.
// - The values of a key have one, 2^t, and the key's attention weight is divided by it. In a block
//   of keys a row's weights are multiplied by 2^(14 + the least t that it sees), which the sums of
//   values are divided by in the end. Weights themselves are not checked: they are at most 1, and
//   what parts lose of them is at most 2^-39 times what the t of the keys differ by.
//
// A row is computed by f32 where a query and a key that it sees are not good together (see
// fp16_parts.hpp); where it sees values that have no such power, or keys of one block whose t
// differ by more than `kMostSpread`. At last where values are *deep*: not zero, and below 2^-4 when
// scaled, so that parts lose more than 2^-21 of them. They lose 2^-39 of the key's largest at most.
// So an element of a row's result is good if it is at least 2^-18 of the largest value of all keys
// with deep ones, or if none of its own values is deep.
#pragma once

#include "simd/tiles/attend_operands.hpp"
#include "simd/tiles/fp16_parts.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

using Ints [[gnu::vector_size(kLanes * 4)]] = std::int32_t;

inline constexpr std::int32_t kExponentOne = 1 << 23;
/// 2^-8 of the weights of a block's smallest values lose bits, and no more do.
inline constexpr std::int32_t kMostSpread = 8 * kExponentOne;
/// Values of less than 2^-98: the inverse of their power of two would be no normal float.
inline constexpr int kMostValueExponent = 112;

HEADROOM_INLINE Ints load_ints(const std::int32_t* from) {
  Ints ints;
  __builtin_memcpy(&ints, from, sizeof(ints));
  return ints;
}
template <class V>
HEADROOM_INLINE void store_ints(std::int32_t* to, const V& ints) {
  __builtin_memcpy(to, &ints, sizeof(ints));
}
HEADROOM_INLINE std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }
HEADROOM_INLINE std::int32_t larger(std::int32_t a, std::int32_t b) { return a > b ? a : b; }

/// As `cut_queries`.
HEADROOM_INLINE void cut_fp16_queries(const AttendTask& task, const TileRows& tile) {
  const std::int64_t steps = whole(task.head_dim, kTileDepth) / kTileDepth;
  for (std::int64_t r = 0; r < kTileBlock; ++r) {
    const std::int64_t row = tile.rows.row + r;
    const float* from = r < tile.rows.rows ? query_row(task, row) : nullptr;
    prefetch_query(task, row);
    Fp16Range range = cut_fp16_row(from, task.head_dim, steps, r, tile.queries);
    tile.bad[r] = range.exponent == kNoFp16Scale;
    if (tile.bad[r] != 0) range.exponent = 0;
    keep_range(range, tile.fp16->ranges, r);
    tile.fp16->deep[r] = kNoValue;
  }
}

/// A vector of keys, each scaled for itself.
/// @param k of the first one in the block
template <class S, class B>
HEADROOM_INLINE void cut_fp16_key_lanes(const Columns<B>& from, std::int64_t depth,
                                        std::int64_t steps, std::int64_t k, std::uint16_t* out,
                                        const AttendMemory& memory) {
  Bits most{};
  for (std::int64_t d = 0; d < depth; ++d) {
    most = larger_of(most, bits_of(row_of(from, d, depth)) & kMagnitude);
  }
  const Ints exponent = 14 + 127 - __builtin_bit_cast(Ints, most >> 23);
  const Bits bad = static_cast<Bits>(most >= kInfinityBits) |
                   (static_cast<Bits>(exponent > 126) & static_cast<Bits>(most != 0U));
  const Bits none = bad | static_cast<Bits>(most == 0U);
  const Ints scaled = exponent & ~__builtin_bit_cast(Ints, none);
  const Bits scale = __builtin_bit_cast(Bits, (scaled + 127) * kExponentOne) & ~bad;
  const Fp16Counts counts = cut_fp16_lanes<S>(from, vec_of(scale), depth, steps, out);
  const Bits zeros =
      static_cast<Bits>(counts.nonzero == 0U) & static_cast<Bits>(Bits{} + kFp16Zeros);
  Fp16Keys& keys = *memory.fp16;
  store_ints(keys.exponent + k, scaled * kExponentOne);
  store_ints(keys.large + k, counts.large + zeros);
  store_ints(keys.middle + k, counts.middle + zeros);
  store_ints(keys.whole + k, counts.whole + zeros);
  store_ints(keys.worn + k, counts.nonzero - counts.whole);
  for (int i = 0; i < kLanes; ++i) memory.skip[k + i] = bad[i] != 0;
}

/// As `cut_keys`.
template <class S, class B>
HEADROOM_INLINE bool cut_fp16_keys(const AttendTask& task, const KeyBlock& block,
                                   const AttendMemory& memory) {
  const std::int64_t depth = whole(task.head_dim, kTileDepth);
  for (std::int64_t k = block.first / kTileBlock * kTileBlock; k < block.count; k += kTileBlock) {
    std::uint16_t* out = memory.keys + k * depth * S::kRight;
    for (int v = 0; v < kBlockVectors; ++v) {
      const std::int64_t first = k + v * kLanes;
      const std::int64_t key = block.begin + first;
      Columns<B> columns;
      if (first < block.count) {
        columns = {
            static_cast<const B*>(task.keys) + key / kPanel * kPanel * task.head_dim + key % kPanel,
            kPanel};
      }
      cut_fp16_key_lanes<S>(columns, task.head_dim, depth / kTileDepth, first, out + 2 * v * kLanes,
                            memory);
    }
  }
  Fp16Keys& keys = *memory.fp16;
  keys.all = fp16_range(0, 0, 0, 0, 0);
  keys.least_exponent = kNoValue;
  keys.most_exponent = -kNoValue;
  bool any_bad = false;
  for (std::int64_t k = block.first; k < block.count; ++k) {
    any_bad = any_bad || memory.skip[k] != 0;
    keys.all.large = static_cast<std::int16_t>(smaller(keys.all.large, keys.large[k]));
    keys.all.middle = static_cast<std::int16_t>(smaller(keys.all.middle, keys.middle[k]));
    keys.all.whole = static_cast<std::int16_t>(smaller(keys.all.whole, keys.whole[k]));
    keys.all.worn = static_cast<std::int16_t>(larger(keys.all.worn, keys.worn[k]));
    keys.least_exponent = smaller(keys.least_exponent, keys.exponent[k]);
    keys.most_exponent = larger(keys.most_exponent, keys.exponent[k]);
  }
  return any_bad;
}

/// Finds the power of two of a key's values. @return whether there is none
template <class B>
HEADROOM_INLINE bool scale_values(const AttendTask& task, const B* values, std::int64_t k,
                                  Fp16Keys& keys) {
  Sizes sizes;
  std::int64_t c = 0;
  for (; c + kLanes <= task.head_dim; c += kLanes) sizes.see(bits_of(load(values + c)));
  if (c < task.head_dim) {
    alignas(64) B rest[kLanes] = {};
    for (std::int64_t i = 0; c + i < task.head_dim; ++i) rest[i] = values[c + i];
    sizes.see(bits_of(load(rest)));
  }
  const std::uint32_t most = largest_lane(sizes.most);
  const std::uint32_t least = ~largest_lane(~sizes.least);  // less one, see least_of
  const std::int16_t exponent = fp16_exponent(most);
  keys.value[k] = keys.deep[k] = kNoValue;
  keys.value_scale[k] = 0;
  if (most == 0) return false;
  if (exponent == kNoFp16Scale || exponent > kMostValueExponent) return true;
  keys.value[k] = exponent * kExponentOne;
  keys.value_scale[k] = power_of_two(exponent);
  const std::uint32_t lost = static_cast<std::uint32_t>(127 - 4 - exponent) << 23;
  if (least < lost - 1U) keys.deep[k] = keys.value[k];
  return false;
}

/// As `cut_values`.
template <class S, class B>
HEADROOM_INLINE bool cut_fp16_values(const AttendTask& task, const KeyBlock& block,
                                     const AttendMemory& memory) {
  const B* values = static_cast<const B*>(task.values) + block.begin * task.value_stride;
  Fp16Keys& keys = *memory.fp16;
  keys.least_value = keys.least_deep = kNoValue;
  keys.most_value = -kNoValue;
  bool any_bad = false;
  for (std::int64_t k = 0; k < whole(block.count, kTileDepth); ++k) {
    keys.value[k] = keys.deep[k] = kNoValue;
    keys.value_scale[k] = 0;
    if (k < block.first || k >= block.count) {
      memory.skip[k] = 1;
      continue;
    }
    const bool bad = scale_values(task, values + k * task.value_stride, k, keys);
    memory.skip[k] = bad || memory.skip[k] != 0;
    any_bad = any_bad || memory.skip[k] != 0;
    keys.least_value = smaller(keys.least_value, keys.value[k]);
    keys.least_deep = smaller(keys.least_deep, keys.deep[k]);
    if (keys.value[k] != kNoValue) keys.most_value = larger(keys.most_value, keys.value[k]);
  }
  const std::int64_t cols = padded_cols(task);
  const std::int64_t steps = whole(block.count, kTileDepth) / kTileDepth;
  const auto scaled = [&](std::int64_t k, std::int64_t c) __attribute__((always_inline)) {
    if (memory.skip[k] != 0 || c >= cols) return Vec(0.0F);
    return load(values + k * task.value_stride + c) * Vec(keys.value_scale[k]);
  };
  for (std::int64_t c = 0; c < cols; c += kTileBlock) {
    std::uint16_t* out = memory.values + c * kKeyBlock * S::kRight;
    for (std::int64_t k = 0; k < steps * kTileDepth; k += 2) {
      std::uint16_t* to =
          out + k / kTileDepth * S::kRight * kRightStep + k % kTileDepth * kTileBlock;
      for (int v = 0; v < kBlockVectors; ++v) {
        TwoHalves parts[S::kRight];
        cut_fp16_pairs(scaled(k, c + v * kLanes), scaled(k + 1, c + v * kLanes), parts);
#pragma GCC unroll 2
        for (int p = 0; p < S::kRight; ++p) {
          __builtin_memcpy(to + p * kRightStep + 2 * v * kLanes, &parts[p], sizeof(parts[p]));
        }
      }
    }
  }
  return any_bad;
}

/// Whether a query is good with counts of keys.
HEADROOM_INLINE bool are_good(const Fp16Rows& queries, std::int64_t r, std::int32_t large,
                              std::int32_t middle, std::int32_t least_whole, std::int32_t worn,
                              std::int64_t depth) {
  const std::int32_t most_worn = larger(queries.worn[r], worn);
  const std::int32_t terms = larger(larger(queries.whole[r] + large, queries.middle[r] + middle),
                                    queries.large[r] + least_whole) -
                             static_cast<std::int32_t>(depth);
  return most_worn == 0 || terms >= most_worn;
}
/// Whether a score is divided by a normal float.
HEADROOM_INLINE bool has_inverse(std::int32_t query, std::int32_t key) {
  const std::int32_t sum = query * kExponentOne + key;
  return sum >= -126 * kExponentOne && sum <= 126 * kExponentOne;
}

/// Marks a row that sees a key which its query is not good with.
HEADROOM_INLINE void check_row(const AttendTask& task, const TileRows& tile, std::int64_t r,
                               std::int64_t begin, std::int64_t end, const Fp16Keys& keys) {
  const Fp16Rows& queries = tile.fp16->ranges;
  const std::int32_t exponent = queries.exponent[r];
  // With the worst of all keys, most rows need no look at each.
  if (are_good(queries, r, keys.all.large, keys.all.middle, keys.all.whole, keys.all.worn,
               task.head_dim) &&
      has_inverse(exponent, keys.least_exponent) && has_inverse(exponent, keys.most_exponent)) {
    return;
  }
  bool good = true;
  for (std::int64_t k = begin; k < end; ++k) {
    good = good &&
           are_good(queries, r, keys.large[k], keys.middle[k], keys.whole[k], keys.worn[k],
                    task.head_dim) &&
           has_inverse(exponent, keys.exponent[k]);
  }
  if (!good) tile.bad[r] = 1;
}

/// Before a tile meets a block of keys: marks rows that f32 has to do.
/// @param exponents of each row, the least of the values that it sees
HEADROOM_INLINE void check_rows(const AttendTask& task, const TileRows& tile, const KeyBlock& block,
                                const Fp16Keys& keys, std::int32_t (&exponents)[kTileBlock]) {
  for (std::int64_t r = 0; r < kTileBlock; ++r) {
    exponents[r] = 0;
    if (r >= tile.rows.rows) continue;
    const KeyRange seen = seen_keys(task, tile.rows.row + r);
    const std::int64_t begin = clamp(seen.begin - block.begin, block.first, block.count);
    const std::int64_t end = clamp(seen.end - block.begin, block.first, block.count);
    std::int32_t least = kNoValue;
    std::int32_t most = -kNoValue;
    std::int32_t deep = kNoValue;
    if (begin == 0 && end == kKeyBlock) {
      least = keys.least_value;
      most = keys.most_value;
      deep = keys.least_deep;
    } else {
      for (std::int64_t k = begin; k < end; ++k) {
        const std::int32_t value = keys.value[k];
        least = smaller(least, value);
        most = larger(most, value == kNoValue ? -kNoValue : value);
        deep = smaller(deep, keys.deep[k]);
      }
    }
    if (least != kNoValue) {
      exponents[r] = least;
      if (most - least > kMostSpread) tile.bad[r] = 1;
    }
    tile.fp16->deep[r] = smaller(tile.fp16->deep[r], deep);
    check_row(task, tile, r, begin, end, keys);
  }
}

/// Bits between those of two floats. What comes of keys that a row does not see has to stay finite,
/// and nothing else is outside.
HEADROOM_INLINE Vec between(const Bits& bits, std::int32_t least, std::int32_t most) {
  const Ints ints = __builtin_bit_cast(Ints, bits);
  const Ints above = ints > least ? ints : Ints{} + least;
  return vec_of(__builtin_bit_cast(Bits, above < most ? above : Ints{} + most));
}
HEADROOM_INLINE std::uint32_t as_bits(std::int32_t exponent) {
  return static_cast<std::uint32_t>(exponent);
}

/// What the scores of a query with some keys are multiplied by.
HEADROOM_INLINE Vec inverse_of_scores(std::int32_t query, const std::int32_t* keys) {
  const Bits of_keys = __builtin_bit_cast(Bits, load_ints(keys));
  return between(as_bits((127 - query) * kExponentOne) - of_keys, kExponentOne, 253 * kExponentOne);
}

/// Of the power of two that weights are multiplied by beside those of values: with dropout they may
/// be larger than 1.
HEADROOM_INLINE int weight_exponent(const AttendTask& task) {
  if (task.dropout == nullptr) return 14;
  const auto factor = static_cast<float>(1 / (1 - task.dropout->probability));
  const int above = static_cast<int>(__builtin_bit_cast(std::uint32_t, factor) >> 23) - 127 + 1;
  return above < 14 ? 14 - above : 0;
}

/// What weights of some keys are multiplied by, zero where that is far too small to matter.
/// @param row the row's of `check_rows`
HEADROOM_INLINE Vec scale_of_weights(int exponent, std::int32_t row, const std::int32_t* values) {
  const Bits of_values = __builtin_bit_cast(Bits, load_ints(values));
  return between(as_bits((127 + exponent) * kExponentOne + row) - of_values, 0, 253 * kExponentOne);
}
/// And the inverse, for the sums of values.
HEADROOM_INLINE float inverse_of_values(int exponent, std::int32_t row) {
  return __builtin_bit_cast(float, (127 - exponent) * kExponentOne - row);
}

HEADROOM_INLINE float load_one(const float* p) { return *p; }
HEADROOM_INLINE float load_one(const Half* p) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(*p) << 16);
}

/// Whether a row sees a value of a column that may be deep.
template <class B>
HEADROOM_INLINE bool sees_deep(const AttendTask& task, std::int64_t row, std::int64_t column,
                               float border) {
  const KeyRange seen = seen_keys(task, row);
  const B* values = static_cast<const B*>(task.values) + column;
  bool found = false;
  for (std::int64_t k = seen.begin; k < seen.end; ++k) {
    const float size = __builtin_fabsf(load_one(values + k * task.value_stride));
    found = found || (size < border && size != 0);
  }
  return found;
}

/// Whether parts may have lost too much of a row's values.
template <class B>
HEADROOM_INLINE bool is_too_deep(const AttendTask& task, const TileRows& tile,
                                 const TileState& state, std::int64_t r) {
  const std::int32_t deep = tile.fp16->deep[r];
  if (deep == kNoValue) return false;
  // The largest value of such a key is below 2^15 times the inverse of its power, a deep one of it
  // below 2^-4 times that.
  const float least = __builtin_bit_cast(float, (127 + 15 - 18) * kExponentOne - deep);
  const float of_values = __builtin_bit_cast(float, (127 - 4) * kExponentOne - deep);
  const float border = least * sum_lanes(load(state.sum + r * kLanes));
  const float* out = state.out + r * padded_cols(task);
  for (std::int64_t c = 0; c < task.head_dim; ++c) {
    if (__builtin_fabsf(out[c]) >= border) continue;
    if (sees_deep<B>(task, tile.rows.row + r, c, of_values)) return true;
  }
  return false;
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
