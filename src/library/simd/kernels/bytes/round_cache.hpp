// Keys and values of a cache as bytes: those of `round_by_bytes`, and the same at every level. As
// many scales are found and divided at once as a vector has lanes.
#pragma once

#include "core/element/cache_bytes.hpp"
#include "simd/kernels/bytes/byte_groups.hpp"
#include "simd/kernels/rows.hpp"
#include "simd/round_task.hpp"

namespace headroom::simd::HEADROOM_ISA_NAMESPACE {

/// As many scales as a vector has lanes, and what their numbers are multiplied by.
struct SharedScales {
  Half stored[kLanes];
  float inverses[kLanes];
};

/// Of numbers that are not negative, or NaN; as `round_to_f16`.
HEADROOM_INLINE void store_fp16(Half* to, const Vec& v) {
  constexpr std::uint32_t kInfinite = 0x477ff000U;  // 65520
  constexpr std::uint32_t kNormal = 0x38800000U;    // 2^-14
  const Bits bits = bits_of(v);
  const Bits normal = (bits - (112U << 23) + 0xfffU + (bits >> 13 & 1U)) >> 13;
  const Bits small = bits_of(v + Vec(0.5F)) - __builtin_bit_cast(std::uint32_t, 0.5F);
  const Bits finite = bits < kNormal ? small : normal;
  const Bits number = bits >= kInfinite ? Bits{} + 0x7c00U : finite;
  const Halves halves =
      __builtin_convertvector(bits > kInfinityBits ? Bits{} + 0x7e00U : number, Halves);
  __builtin_memcpy(to, &halves, sizeof(halves));
}

/// Of `some` scales, at most `kLanes`.
/// @param sizes `sizes(i)`: the largest lane is the largest size of the numbers of scale `i`
template <class Sizes>
HEADROOM_INLINE void find_scales(std::int64_t some, const Sizes& sizes, SharedScales& scales) {
  Vec largest[kLanes];
  for (std::int64_t i = 0; i < some; ++i) largest[i] = vec_of(sizes(i));
  for (std::int64_t i = some; i < kLanes; ++i) largest[i] = Vec(0.0F);
  const Vec most = fold_each(
      largest, [](const Vec& a, const Vec& b) __attribute__((always_inline)) {
        return vec_of(bits_of(a) > bits_of(b) ? bits_of(a) : bits_of(b));
      });
  store_fp16(scales.stored, most / Vec(kMostByte));
  const Vec scale = load_fp16(scales.stored);
  const Bits bits = bits_of(scale);
  const Bits inverse = bits > kInfinityBits ? Bits{} : bits_of(Vec(1.0F) / scale);
  store(scales.inverses, vec_of(bits == 0U ? Bits{} : inverse));
}

HEADROOM_INLINE Bits larger_sizes(const Bits& sizes, const Vec& values) {
  const Bits next = bits_of(values) & kMagnitude;
  return next > sizes ? next : sizes;
}

/// In the low byte of each lane. Without an inverse it is 0, be the value a number or not.
HEADROOM_INLINE Bits byte_of(const Vec& value, float inverse) {
  const Vec steps = value * Vec(inverse);
  const Vec limited = xsimd::max(xsimd::min(steps, Vec(kMostByte)), Vec(-kMostByte));
  return bits_of(limited + Vec(kWholeNumbers)) & (inverse == 0 ? 0U : 0xffU);
}

HEADROOM_INLINE void store_low_bytes(std::int8_t* to, const Bits& bytes) {
  store_bytes(reinterpret_cast<std::uint8_t*>(to), bytes);
}

inline constexpr int kBytesOfWord = 4;

/// Channels of a block from `c` on as bytes.
HEADROOM_INLINE void put_keys(const KeysToRound& keys, std::int64_t c, std::int64_t some,
                              const float (&inverses)[kLanes]) {
  constexpr std::uint32_t kOffset = 128;
  for (std::int64_t key = 0; key < kCacheBlock; key += kLanes) {
    const std::int64_t panel = key / kPanel * kPanel;
    const float* from = keys.panels + panel * keys.head_dim + c * kPanel + key % kPanel;
    std::int8_t* to = keys.to + panel * keys.width + c * kPanel;
    const auto byte = [&](std::int64_t i) __attribute__((always_inline)) {
      return byte_of(load(from + i * kPanel), inverses[i]);
    };
    if (keys.order == CacheOrder::floats) {
      for (std::int64_t i = 0; i < some; ++i) {
        store_low_bytes(to + i * kPanel + key % kPanel, byte(i));
      }
      continue;
    }
    for (std::int64_t i = 0; i < some; i += kBytesOfWord) {
      Bits word{};
      for (std::int64_t j = 0; j < kBytesOfWord && i + j < some; ++j) {
        word |= (byte(i + j) ^ kOffset) << static_cast<std::uint32_t>(8 * j);
      }
      __builtin_memcpy(to + i * kPanel + key % kPanel * kBytesOfWord, &word, sizeof(word));
    }
  }
}

inline void round_cache_keys(const KeysToRound& keys) {
  for (std::int64_t c = 0; c < keys.head_dim; c += kLanes) {
    const std::int64_t some = keys.head_dim - c < kLanes ? keys.head_dim - c : kLanes;
    SharedScales scales;
    find_scales(
        some,
        [&](std::int64_t i) __attribute__((always_inline)) {
          Bits sizes{};
          for (std::int64_t key = 0; key < kCacheBlock; key += kLanes) {
            const float* panel = keys.panels + key / kPanel * kPanel * keys.head_dim + key % kPanel;
            sizes = larger_sizes(sizes, load(panel + (c + i) * kPanel));
          }
          return sizes;
        },
        scales);
    __builtin_memcpy(keys.scales + c, scales.stored, sizeof(scales.stored));
    put_keys(keys, c, some, scales.inverses);
  }
}

/// Words of the columns of up to four tokens, of which `first` is the place of the first one: those
/// of the others stay what they are.
/// @param byte `byte(j, c)`: of the columns from `c` on of token `j`
template <class Byte>
HEADROOM_INLINE void put_words(std::int64_t first, std::int64_t count, std::int64_t columns,
                               std::int8_t* to, const Byte& byte) {
  const auto place = [&](std::int64_t j) { return static_cast<std::uint32_t>(8 * (first + j)); };
  std::uint32_t others = ~0U;
  for (std::int64_t j = 0; j < count; ++j) others &= ~(0xffU << place(j));
  for (std::int64_t c = 0; c < columns; c += kLanes) {
    Bits word;
    __builtin_memcpy(&word, to + c * kBytesOfWord, sizeof(word));
    word &= others;
    for (std::int64_t j = 0; j < count; ++j) word |= byte(j, c) << place(j);
    __builtin_memcpy(to + c * kBytesOfWord, &word, sizeof(word));
  }
}

/// Bytes of `some` tokens that share vectors of scales. @param at position of the first
template <class Byte>
HEADROOM_INLINE void put_values(const ValuesToRound& values, std::int64_t at, std::int64_t some,
                                const Byte& byte) {
  if (values.order == CacheOrder::floats) {
    for (std::int64_t i = 0; i < some; ++i) {
      std::int8_t* to = values.to + (at + i) * values.stride;
      for (std::int64_t c = 0; c < values.value_dim; c += kLanes) {
        store_low_bytes(to + c, byte(i, c));
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < some;) {
    const std::int64_t first = (at + i) % kBytesOfWord;
    const std::int64_t room = kBytesOfWord - first;
    const std::int64_t count = some - i < room ? some - i : room;
    put_words(
        first, count, values.value_dim, values.to + (at + i - first) * values.stride,
        [&](std::int64_t j, std::int64_t c)
            __attribute__((always_inline)) { return byte(i + j, c); });
    i += count;
  }
}

template <class A>
HEADROOM_INLINE void round_values_of(const ValuesToRound& values, const A* rows) {
  const auto columns = [&](std::int64_t token, std::int64_t c) __attribute__((always_inline)) {
    return load_some(rows + token * values.rows.stride + c, values.value_dim - c);
  };
  for (std::int64_t t = 0; t < values.count; t += kLanes) {
    const std::int64_t some = values.count - t < kLanes ? values.count - t : kLanes;
    SharedScales scales;
    find_scales(
        some,
        [&](std::int64_t i) __attribute__((always_inline)) {
          Bits sizes{};
          for (std::int64_t c = 0; c < values.value_dim; c += kLanes) {
            sizes = larger_sizes(sizes, columns(t + i, c));
          }
          return sizes;
        },
        scales);
    const std::int64_t at = values.position + t;
    for (std::int64_t i = 0; i < some; ++i) values.scales[at + i] = scales.stored[i];
    put_values(
        values, at, some, [&](std::int64_t i, std::int64_t c) __attribute__((always_inline)) {
          return byte_of(columns(t + i, c), scales.inverses[i]);
        });
  }
}

inline void round_cache_values(const ValuesToRound& values) {
  with_rows_of(
      values.rows, [&](const auto* rows)
                       __attribute__((always_inline)) { round_values_of(values, rows); });
}

}  // namespace headroom::simd::HEADROOM_ISA_NAMESPACE
