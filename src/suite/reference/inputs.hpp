// What the oracle's layer is applied to.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "headroom/view.hpp"

namespace headroom::reference {

/// What the caller adds to the score of a row and a key, minus infinity to hide the key. Rows of a
/// sequence are those of the call, keys also those of what came before.
using MaskFunction = std::function<double(std::int64_t sequence, std::int64_t head,
                                          std::int64_t row, std::int64_t key)>;

/// All that a call reads, weights aside.
struct Inputs {
  ConstMatrixView x;  ///< `rows() x d_in`, the call's own tokens, one sequence after the other
  /// The tokens that came before, which only give keys and values: `batch * past` rows of
  /// `key_input()`, one sequence after the other. With a second input, earlier tokens of that.
  ConstMatrixView past = {};
  ConstMatrixView memory = {};  ///< the second input: `memory_rows() x d_memory`
  /// Where the shape has no projections, x is the queries, `d_out` wide, and these are the keys and
  /// values: `batch * context()` rows of `kv_width()`, one sequence after the other.
  ConstMatrixView key = {}, value = {};
  /// By which tokens are turned, in place of their places in their sequences: one for each token of
  /// each sequence, those that came before first; or three times as many, all tokens' times, then
  /// their heights, then their widths.
  std::span<const std::int64_t> positions = {};
  /// How far the call reaches, for rotary positions that change with that: all tokens are turned by
  /// what holds there, those that came before as well. 0: as far as any of its tokens.
  std::int64_t context = 0;
  MaskFunction mask = {};  ///< empty: it adds nothing
  /// Whether keys and values are rounded as a cache of q8 rounds them, and as floats.
  bool rounds_cache = false;
};

}  // namespace headroom::reference
