#include "sweep/statistics.hpp"

#include <algorithm>
#include <cstddef>
#include <random>

namespace headroom::sweep {
namespace {

constexpr std::size_t kResamples = 2000;

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*std::max_element(values.begin(), middle) + *middle);
}

Interval bootstrap_median_ci95(const std::vector<double>& samples, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> medians(kResamples);
  std::vector<double> drawn(samples.size());
  for (double& result : medians) {
    // Not std::uniform_int_distribution, whose values differ between standard libraries; the bias
    // of the remainder is below 2^-50 here.
    for (double& value : drawn) value = samples[generator() % samples.size()];
    result = median(drawn);
  }
  std::sort(medians.begin(), medians.end());
  const std::size_t tail = kResamples / 40;
  return {medians[tail], medians[kResamples - 1 - tail]};
}

}  // namespace headroom::sweep
