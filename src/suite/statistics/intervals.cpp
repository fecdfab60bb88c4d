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

// Medians of draws from the same samples. Counting how often each was drawn finds the same middle
// as ordering them would, in a fraction of the time: no draw is written down or sorted.
class DrawnMedian {
 public:
  explicit DrawnMedian(std::vector<double> samples)
      : sorted_(std::move(samples)), rank_(sorted_.size()), counts_(sorted_.size()) {
    Draw order(sorted_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return sorted_[a] < sorted_[b]; });
    for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
    std::sort(sorted_.begin(), sorted_.end());
  }

  double of(const Draw& draw) {
    std::fill(counts_.begin(), counts_.end(), 0U);
    for (const std::size_t place : draw) ++counts_[rank_[place]];
    const std::size_t middle = draw.size() / 2;
    std::size_t rank = 0, seen = counts_[0];
    // Of an even number the two in the middle count.
    std::size_t below_middle = rank;
    while (seen <= middle) {
      if (counts_[rank] > 0) below_middle = rank;
      seen += counts_[++rank];
    }
    if (draw.size() % 2 == 1) return sorted_[rank];
    if (seen - counts_[rank] < middle) below_middle = rank;
    return 0.5 * (sorted_[below_middle] + sorted_[rank]);
  }

 private:
  std::vector<double> sorted_;
  Draw rank_;
  std::vector<unsigned> counts_;
};

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
  DrawnMedian drawn(pooled(samples));
  std::vector<double> medians;
  medians.reserve(kResamples);
  for (const Draw& draw : draw_many(counts_of(samples), generator)) {
    medians.push_back(drawn.of(draw));
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
  DrawnMedian divisors(pooled(base)), dividends(pooled(next));
  std::vector<double> ratios(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    ratios[i] = dividends.of(next_[i]) / divisors.of(base_[i]);
  }
  return without_tails(std::move(ratios), tail_);
}

}  // namespace headroom::statistics
