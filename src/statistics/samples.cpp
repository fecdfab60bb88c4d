#include "statistics/samples.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace headroom::statistics {
namespace {

constexpr std::size_t kResamples = 2000;

using Middle = RatioBootstrap::Middle;

double at(const std::vector<double>& sorted, const Middle& middle) {
  return 0.5 * (sorted[middle.low] + sorted[middle.high]);
}

// The middles of samples drawn, with replacement, from `count` sorted values. They depend only on
// the count, so comparisons with equal sample counts share them.
std::vector<Middle> draw_middles(std::size_t count, std::mt19937_64& generator) {
  std::vector<std::size_t> drawn(count);
  std::vector<Middle> middles(kResamples);
  for (Middle& middle : middles) {
    // Not std::uniform_int_distribution, whose values differ between standard libraries. The bias
    // of the remainder is below 2^-50 here.
    for (std::size_t& rank : drawn) rank = generator() % count;
    const auto half = drawn.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(drawn.begin(), half, drawn.end());
    middle.high = *half;
    middle.low = count % 2 == 1 ? middle.high : *std::max_element(drawn.begin(), half);
  }
  return middles;
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

Interval percentiles95(std::vector<double> values) {
  const auto tail = static_cast<std::ptrdiff_t>(values.size() / 40);
  const auto low = values.begin() + tail;
  const auto high = values.end() - 1 - tail;
  std::nth_element(values.begin(), low, values.end());
  const double lower = *low;  // the next call reorders the values
  std::nth_element(low, high, values.end());
  return {lower, *high};
}

}  // namespace

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

RatioBootstrap::RatioBootstrap(std::size_t base_count, std::size_t next_count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  base_ = draw_middles(base_count, generator);
  next_ = draw_middles(next_count, generator);
}

Interval RatioBootstrap::ci95(const std::vector<double>& base,
                              const std::vector<double>& next) const {
  const std::vector<double> divisors = sorted(base);
  const std::vector<double> dividends = sorted(next);
  std::vector<double> ratios(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    ratios[i] = at(dividends, next_[i]) / at(divisors, base_[i]);
  }
  return percentiles95(std::move(ratios));
}

Interval bootstrap_median_ci95(const std::vector<double>& samples, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const std::vector<double> values = sorted(samples);
  std::vector<double> medians;
  medians.reserve(kResamples);
  for (const Middle& middle : draw_middles(values.size(), generator)) {
    medians.push_back(at(values, middle));
  }
  return percentiles95(std::move(medians));
}

}  // namespace headroom::statistics
