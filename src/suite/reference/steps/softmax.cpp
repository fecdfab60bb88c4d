#include "reference/steps/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headroom::reference {

Softmax softmax(const std::vector<double>& scores, std::optional<double> sink) {
  double largest = sink.value_or(-std::numeric_limits<double>::infinity());
  for (const double score : scores) largest = std::max(largest, score);
  Softmax result{scores, {}, 0, 0};
  for (double& distance : result.distances) distance -= largest;
  result.weights = result.distances;
  double sum = sink ? std::exp(*sink - largest) : 0;
  for (double& weight : result.weights) sum += weight = std::exp(weight);
  for (double& weight : result.weights) weight /= sum;
  if (sink) {
    result.sink_distance = *sink - largest;
    result.sink_weight = std::exp(result.sink_distance) / sum;
  }
  return result;
}

}  // namespace headroom::reference
