// Layers that are computed wrongly on purpose, in double, apart from the oracle: each must
// be distinguished from a correct one.
#pragma once

#include <string_view>
#include <vector>

#include "core/case.hpp"
#include "headroom/weights.hpp"
#include "support/layer_data.hpp"

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
  value_of_another_token,  ///< the middle key that the last row sees has its neighbour's V
  window_one_key_more,
  window_one_key_fewer,
  key_head_of_another_group,  ///< heads take key heads in turn instead of in groups
  rotary_other_pairs,         ///< the other of the two layouts
  rotary_from_the_call,       ///< positions of x do not count what came before
  past_off_by_one,            ///< the mask stands one key too far to the left
  sequences_leak,             ///< each sequence also sees the last key of the one before
};

std::string_view to_string(Fault fault);

/// The faults that can show in a shape, except `none`.
std::vector<Fault> faults_of(const Case& shape);

Matrix planted(const Layer& layer, Fault fault);

/// The right layer in float, each sum from its first term to its last: as far from exact as an
/// honest result gets.
Matrix in_float(const Layer& layer);

}  // namespace headroom::test
