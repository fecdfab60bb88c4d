// What a cache holds. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/backend.hpp"
#include "core/call/attend_call.hpp"
#include "headroom/attention.hpp"

namespace headroom {

struct [[gnu::visibility("hidden")]] KeyValueCache::State {
  State(std::uint64_t of, Storage storage, const CacheSize& size,
        std::unique_ptr<KeyValueStore> made);

  std::uint64_t owner;  ///< the layer or attention that it belongs to
  Storage stored;
  std::int64_t capacity;
  std::vector<std::int64_t> lengths;
  /// Of each sequence: whether what it has was turned as in long contexts, by `long_divisors`.
  std::vector<bool> turned_long;
  std::unique_ptr<KeyValueStore> store;

  /// @throws InvalidArgument if there is no such sequence.
  std::int64_t& length(std::int64_t sequence);
};

/// A number that no other owner of caches in this program has.
std::uint64_t next_cache_owner();

/// Room for the keys and values of earlier calls of one who computes such a case.
/// @throws InvalidArgument for a number below 1, or sizes that cannot be counted.
std::unique_ptr<KeyValueStore> make_store(HeadAttention& attend, const Case& shape,
                                          const CacheSize& size);

}  // namespace headroom
