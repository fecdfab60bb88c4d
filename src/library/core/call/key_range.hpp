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

/// What hides keys by their positions; as in `LayerConfig`. Plain loops of every instruction set
/// see it, so it is a plain struct.
struct MaskRule {
  bool causal = true;
  std::int64_t window = 0;
  std::int64_t chunk = 0;
};

/// What a row at `position` sees of `keys`. Of later rows neither end is before that of this one.
[[gnu::always_inline]] constexpr KeyRange visible_keys(const MaskRule& rule, std::int64_t position,
                                                       std::int64_t keys) {
  KeyRange seen{0, rule.causal ? position + 1 : keys};
  if (rule.window > 0) {
    seen.begin = position + 1 > rule.window ? position + 1 - rule.window : 0;
    if (!rule.causal && rule.window < keys - position) seen.end = position + rule.window;
  }
  if (rule.chunk > 0) {
    const std::int64_t first = position / rule.chunk * rule.chunk;
    seen.begin = first > seen.begin ? first : seen.begin;
  }
  return seen;
}

}  // namespace headroom
