#include "reference/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headroom::reference {

Softmax softmax(const std::vector<double>& scores) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double score : scores) largest = std::max(largest, score);
  Softmax result{scores, {}};
  for (double& distance : result.distances) distance -= largest;
  result.weights = result.distances;
  double sum = 0;
  for (double& weight : result.weights) sum += weight = std::exp(weight);
  for (double& weight : result.weights) weight /= sum;
  return result;
}

}  // namespace headroom::reference
