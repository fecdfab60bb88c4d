// How many tokens of each sequence a cache holds, and what may be asked of that.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "core/element/cache_bytes.hpp"
#include "headroom/error.hpp"

namespace headroom {

/// The length of a sequence. @throws InvalidArgument if there is no such sequence.
inline std::int64_t& length_of(std::vector<std::int64_t>& lengths, std::int64_t sequence) {
  if (sequence < 0 || sequence >= static_cast<std::int64_t>(lengths.size())) {
    throw InvalidArgument(fmt::format("cache: there is no sequence {}; allowed are 0 to {}",
                                      sequence, lengths.size() - 1));
  }
  return lengths[static_cast<std::size_t>(sequence)];
}

/// @throws InvalidArgument if a sequence with `present` tokens cannot be cut to `length`.
inline void check_truncation(std::int64_t sequence, std::int64_t present, std::int64_t length) {
  if (length >= 0 && length <= present) return;
  throw InvalidArgument(
      fmt::format("cache: sequence {} has {} tokens and cannot be cut to {}; allowed are 0 to {}",
                  sequence, present, length, present));
}

/// The same of keys in eight bits: those of a full block were rounded together.
inline void check_rounded_truncation(std::int64_t sequence, std::int64_t present,
                                     std::int64_t length) {
  check_truncation(sequence, present, length);
  if (length == present || length % kCacheBlock == 0 || length > cache_block(present)) return;
  throw InvalidArgument(fmt::format(
      "cache: sequence {} has {} tokens and cannot be cut to {}, within a block of {} "
      "keys that were rounded together; allowed are multiples of {} and lengths from {} on",
      sequence, present, length, kCacheBlock, kCacheBlock, cache_block(present)));
}

}  // namespace headroom
