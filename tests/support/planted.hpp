// Layers that are computed wrongly on purpose, in double, apart from the oracle: each must
// be distinguished from a correct one.
#pragma once

#include <string_view>
#include <vector>

#include "headroom/shape.hpp"
#include "headroom/weights.hpp"

namespace headroom::test {

enum class Fault {
  none,  ///< right but for the rounding of the result
  all_zeros,
  one_nan,
  one_negative_value_doubled,
  one_bad_element,    ///< the largest, by a hundredth
  swapped_heads,      ///< each head's slice where the next one's belongs
  scale_by_head_dim,  ///< 1 / head_dim in place of its root
  scale_five_percent_up,
  mask_off_by_one,  ///< sees one key too many; unmasked: misses the last one
  dropout_not_rescaled,
  query_bias_left_out,
  value_bias_left_out,
  output_bias_left_out,
  value_of_another_token,  ///< the middle token has its neighbour's V
};

std::string_view to_string(Fault fault);

/// The faults that can show in a shape, except `none`.
std::vector<Fault> faults_of(const Shape& shape);

Matrix planted(const Shape& shape, const SplitWeights& weights, const Matrix& x, Fault fault);

}  // namespace headroom::test
