#include "statistics/samples.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headroom::statistics {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*std::max_element(values.begin(), middle) + *middle);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto place = std::ceil(share * static_cast<double>(values.size())) - 1;
  return values[static_cast<std::size_t>(std::max(0.0, place))];
}

double scatter(const std::vector<double>& values) {
  return (percentile(values, 0.9) - percentile(values, 0.1)) / median(values);
}

}  // namespace headroom::statistics
