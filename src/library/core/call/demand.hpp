// What a shape asks of the machine: many rows ask for arithmetic, few rows for memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/case.hpp"

namespace headroom {

/// Two questions, which have two answers: a backend that is fastest for a prompt need not be for
/// the tokens after it.
enum class Demand {
  prefill,  ///< many rows for each sequence
  decode,   ///< so few that weights and cache are read for next to no arithmetic
};

/// The most rows of a sequence in a step of decoding: one token, or a few that were guessed ahead.
/// Above, a kernel's tile of rows is full and arithmetic counts again, whatever came before.
inline constexpr std::int64_t kFewRows = 4;

inline Demand demand_of(const Case& shape) {
  return shape.tokens <= kFewRows ? Demand::decode : Demand::prefill;
}

inline std::string_view to_string(Demand demand) {
  return demand == Demand::prefill ? "prefill" : "decode";
}

/// The most keys that a row sees.
inline std::int64_t seen_keys(const Case& shape) {
  std::int64_t most = shape.context();
  if (shape.window > 0 && shape.causal) {
    most = std::min(shape.window, most);
  } else if (shape.window > 0 && shape.window <= most / 2) {
    most = 2 * shape.window - 1;
  }
  return shape.chunk > 0 ? std::min(shape.chunk, most) : most;
}

/// Tokens of a sequence's cache that a call sees: not those that all its rows have left behind.
inline std::int64_t seen_past(const Case& shape) {
  if (shape.chunk > 0) return shape.past % shape.chunk;
  return shape.window > 0 ? std::min(shape.window - 1, shape.past) : shape.past;
}

/// Bytes that a call must read from memory if nothing is in a processor's cache: all weights, and
/// keys and values of the past that it sees. What it brings itself is small beside them.
/// @pre the shape is valid. @param stored the precision does not count
inline std::int64_t bytes_to_read(const Case& shape, const Numbers& stored = {}) {
  std::int64_t sequences = shape.batch;  // without a token nothing of the cache is read
  if (!shape.lengths.empty())
    sequences -= std::count(shape.lengths.begin(), shape.lengths.end(), 0);
  return shape.bytes(stored).weights +
         cache_bytes(stored.stored_cache(), sequences * seen_past(shape), shape);
}

}  // namespace headroom
