#include "statistics/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "statistics/samples.hpp"
#include "statistics/student_t.hpp"

namespace headroom::statistics {
namespace {

constexpr std::size_t kResamples = 2000;
constexpr double kOutside = 0.05;

using Draw = std::vector<std::size_t>;

// Not std::uniform_int_distribution, whose values differ between standard libraries. The bias of
// the remainder is below 2^-50 here.
std::size_t below(std::size_t count, std::mt19937_64& generator) { return generator() % count; }

Draw draw_once(const SampleCounts& counts, const Draw& firsts, std::mt19937_64& generator) {
  Draw draw;
  for (std::size_t turn = 0; turn < counts.size(); ++turn) {
    const std::size_t process = counts.size() == 1 ? 0 : below(counts.size(), generator);
    for (std::size_t i = 0; i < counts[process]; ++i) {
      draw.push_back(firsts[process] + below(counts[process], generator));
    }
  }
  return draw;
}

std::vector<Draw> draw_many(const SampleCounts& counts, std::mt19937_64& generator) {
  Draw firsts(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), firsts.begin(), std::size_t{0});
  std::vector<Draw> draws(kResamples);
  for (Draw& draw : draws) draw = draw_once(counts, firsts, generator);
  return draws;
}

double median_of(const Draw& draw, const std::vector<double>& samples) {
  std::vector<double> drawn(draw.size());
  std::transform(draw.begin(), draw.end(), drawn.begin(),
                 [&](std::size_t place) { return samples[place]; });
  return median(std::move(drawn));
}

// The share of all draws below the interval, and as many above it.
double tail_of(std::size_t processes, std::size_t freedom) {
  if (processes < 2) return kOutside / 2;
  const auto count = static_cast<double>(processes);
  const double t = student_t_quantile(kOutside, static_cast<double>(freedom));
  return 0.5 * std::erfc(std::sqrt(count / (count - 1)) * t / std::sqrt(2.0));
}

Interval without_tails(std::vector<double> values, double tail) {
  const auto left_out = static_cast<std::ptrdiff_t>(tail * static_cast<double>(values.size()));
  const auto low = values.begin() + left_out;
  const auto high = values.end() - 1 - left_out;
  std::nth_element(values.begin(), low, values.end());
  const double lower = *low;  // the next call reorders the values
  std::nth_element(low, high, values.end());
  return {lower, *high};
}

}  // namespace

SamplesByProcess by_process(const std::vector<double>& samples, const std::vector<int>& processes) {
  if (processes.empty()) return {samples};
  std::map<int, std::vector<double>> apart;
  for (std::size_t i = 0; i < samples.size(); ++i) apart[processes.at(i)].push_back(samples[i]);
  SamplesByProcess all;
  for (auto& [process, own] : apart) all.push_back(std::move(own));
  return all;
}

std::vector<double> pooled(const SamplesByProcess& samples) {
  std::vector<double> all;
  for (const std::vector<double>& own : samples) all.insert(all.end(), own.begin(), own.end());
  return all;
}

double pooled_median(const SamplesByProcess& samples) { return median(pooled(samples)); }

std::vector<double> process_medians(const SamplesByProcess& samples) {
  std::vector<double> all;
  for (const std::vector<double>& own : samples) all.push_back(median(own));
  return all;
}

SampleCounts counts_of(const SamplesByProcess& samples) {
  SampleCounts counts;
  for (const std::vector<double>& own : samples) counts.push_back(own.size());
  return counts;
}

Interval bootstrap_median_ci95(const SamplesByProcess& samples, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const std::vector<double> all = pooled(samples);
  std::vector<double> medians;
  medians.reserve(kResamples);
  for (const Draw& draw : draw_many(counts_of(samples), generator)) {
    medians.push_back(median_of(draw, all));
  }
  return without_tails(std::move(medians), tail_of(samples.size(), samples.size() - 1));
}

RatioBootstrap::RatioBootstrap(const SampleCounts& base, const SampleCounts& next,
                               std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  base_ = draw_many(base, generator);
  next_ = draw_many(next, generator);
  tail_ = tail_of(std::min(base.size(), next.size()), base.size() + next.size() - 2);
}

Interval RatioBootstrap::ci95(const SamplesByProcess& base, const SamplesByProcess& next) const {
  const std::vector<double> divisors = pooled(base);
  const std::vector<double> dividends = pooled(next);
  std::vector<double> ratios(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    ratios[i] = median_of(next_[i], dividends) / median_of(base_[i], divisors);
  }
  return without_tails(std::move(ratios), tail_);
}

}  // namespace headroom::statistics
