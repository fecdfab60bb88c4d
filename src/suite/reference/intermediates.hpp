// What the oracle computes on its way to y, for those who want to show it.
#pragma once

#include <vector>

#include "core/case.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom::reference {

/// All in double, row-major. With `S = B * H * T` rows of T keys, in the order of sequence, head
/// and token.
struct Intermediates {
  std::vector<double> query;    ///< `B * T x d_out`, turned to its position
  std::vector<double> key;      ///< `B * T x kv_width()`, likewise
  std::vector<double> value;    ///< `B * T x value_width()`
  std::vector<double> scores;   ///< `S x T`: `q.k` before the scale; -inf where a row sees no key
  std::vector<double> weights;  ///< `S x T`: after softmax; 0 where a row sees no key
  std::vector<double> dropped;  ///< `S x T`: after dropout
  std::vector<double> context;  ///< `B * T x context_width()`: the heads merged
  std::vector<double> y;        ///< `B * T x output_width()`
};

/// The same sums as `attention`, which gives y.
/// @throws InvalidArgument as `attention`, and for a shape with a past, a second input or sequences
///         of different lengths, whose values do not lie in such tables.
Intermediates intermediates(const Case& shape, const SplitWeights& weights, ConstMatrixView x);

}  // namespace headroom::reference
