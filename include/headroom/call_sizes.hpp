/// @file
/// How much one call of a layer brings at most.
#pragma once

#include <cstdint>

namespace headroom {

/// The largest call that a layer is made for; it takes any call up to it.
struct CallSizes {
  std::int64_t batch = 1;   ///< B, independent sequences
  std::int64_t tokens = 0;  ///< T, tokens of a sequence
  /// Tokens of a sequence that a cache holds before a call. Nothing is kept for them, because a
  /// cache has its own capacity; `"auto"` chooses for such calls.
  std::int64_t past = 0;
  std::int64_t memory_tokens = 0;  ///< tokens of a sequence of the second input

  bool operator==(const CallSizes&) const = default;
};

}  // namespace headroom
