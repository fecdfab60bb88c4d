// The softmax of one row of scores.
#pragma once

#include <optional>
#include <vector>

namespace headroom::reference {

struct Softmax {
  std::vector<double> distances;              ///< `s_j - max s`, at most 0
  std::vector<double> weights;                ///< `p_j`, before dropout
  double sink_distance = 0, sink_weight = 0;  ///< the same of a sink; 0 without one
};

/// The largest score is subtracted before the exponential, so that none overflows.
/// @param sink one more logit of the sum, which has no weight of its own
Softmax softmax(const std::vector<double>& scores, std::optional<double> sink = std::nullopt);

}  // namespace headroom::reference
