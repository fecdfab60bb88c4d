// The mask: which keys a row sees. Every backend goes by this one rule; the oracle has its own.
//
// Kernels that are compiled once per instruction set use it as well, hence constexpr and always
// inlined, see cmake/HeadroomIsa.cmake.
#pragma once

#include <cstdint>

namespace headroom {

/// Keys from `begin` to below `end`, counted from the sequence's first.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What a row at `position` sees of `keys`.
/// @param window the most keys of a causal row, its own included; 0: no limit
[[gnu::always_inline]] constexpr KeyRange visible_keys(bool causal, std::int64_t window,
                                                       std::int64_t position, std::int64_t keys) {
  if (!causal) return {0, keys};
  const std::int64_t end = position + 1;
  return {window > 0 && end > window ? end - window : 0, end};
}

}  // namespace headroom
