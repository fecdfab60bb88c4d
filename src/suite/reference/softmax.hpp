// The softmax of one row of scores.
#pragma once

#include <vector>

namespace headroom::reference {

struct Softmax {
  std::vector<double> distances;  ///< `s_j - max s`, at most 0
  std::vector<double> weights;    ///< `p_j`, before dropout
};

/// The largest score is subtracted before the exponential, so that none overflows.
Softmax softmax(const std::vector<double>& scores);

}  // namespace headroom::reference
