// What the oracle's layer is applied to.
#pragma once

#include "headroom/view.hpp"

namespace headroom::reference {

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
};

}  // namespace headroom::reference
