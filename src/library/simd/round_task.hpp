// Keys and values that are rounded to eight bits as they come into a cache, and how the bytes lie.
#pragma once

#include <cstdint>

#include "simd/kernel_table.hpp"

namespace headroom::simd {

/// How bytes lie.
enum class CacheOrder : std::uint8_t {
  floats,  ///< keys in panels and values in rows, as floats do in PackedHeads
  /// As products of bytes read them. Keys in panels, groups of 32 channels one after the other (the
  /// last one filled up) and in them words of four neighbours, key after key; they are 128 more, so
  /// that they have no sign. Values in words of four tokens', column after column.
  words,
};

/// A whole block of `kCacheBlock` keys.
struct KeysToRound {
  const float* panels = nullptr;
  std::int64_t head_dim = 0;
  CacheOrder order = CacheOrder::floats;
  std::int8_t* to = nullptr;
  std::int64_t width = 0;  ///< bytes of a key in `to`
  Half* scales = nullptr;  ///< of each channel; room for whole vectors
};

/// Values of some tokens of a head.
struct ValuesToRound {
  RowsOf rows;
  std::int64_t count = 0, value_dim = 0;
  std::int64_t position = 0;  ///< of the first, in `to` and `scales`
  CacheOrder order = CacheOrder::floats;
  std::int8_t* to = nullptr;
  std::int64_t stride = 0;  ///< bytes from one token to the next in `to`, whole vectors
  Half* scales = nullptr;
};

}  // namespace headroom::simd
