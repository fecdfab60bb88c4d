#include "sweep/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace headroom::sweep {
namespace {

constexpr std::size_t kResamples = 2000;

// Medians of samples drawn, with replacement, from the given ones.
class Bootstrap {
 public:
  Bootstrap(const std::vector<double>& samples, std::mt19937_64& generator)
      : samples_(samples), generator_(generator), drawn_(samples.size()) {}

  double draw_median() {
    // Not std::uniform_int_distribution, whose values differ between standard libraries; the bias
    // of the remainder is below 2^-50 here.
    for (double& value : drawn_) value = samples_[generator_() % samples_.size()];
    return median(drawn_);
  }

 private:
  const std::vector<double>& samples_;
  std::mt19937_64& generator_;
  std::vector<double> drawn_;
};

Interval percentiles95(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t tail = values.size() / 40;
  return {values[tail], values[values.size() - 1 - tail]};
}

// Sum of the ranks of `a` among all values, ties sharing the mean of theirs, and the sum of
// t^3 - t over all groups of t ties.
struct Ranks {
  double sum_of_a = 0;
  double tie_term = 0;
};

Ranks rank_together(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;  // value, whether it is of a
  all.reserve(a.size() + b.size());
  for (const double value : a) all.emplace_back(value, true);
  for (const double value : b) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  Ranks ranks;
  for (std::size_t start = 0; start < all.size();) {
    std::size_t end = start;
    std::size_t of_a = 0;
    for (; end < all.size() && all[end].first == all[start].first; ++end) of_a += all[end].second;
    const auto ties = static_cast<double>(end - start);
    const double mean_rank = 0.5 * static_cast<double>(start + 1 + end);
    ranks.sum_of_a += mean_rank * static_cast<double>(of_a);
    ranks.tie_term += ties * ties * ties - ties;
    start = end;
  }
  return ranks;
}

// P(U <= u) from the number of arrangements with each U: the largest of all values is either one of
// a, which beats all of b, or one of b, which beats none.
double exact_tail(std::size_t a, std::size_t b, double u) {
  std::vector<std::vector<double>> counts(b + 1, std::vector<double>(a * b + 1));
  for (std::vector<double>& row : counts) row[0] = 1;
  for (std::size_t i = 1; i <= a; ++i) {
    for (std::size_t j = 1; j <= b; ++j) {
      for (std::size_t value = i * j + 1; value-- > 0;) {
        const double with_a_on_top = value >= j ? counts[j][value - j] : 0;
        counts[j][value] = with_a_on_top + counts[j - 1][value];
      }
    }
  }
  const std::vector<double>& all = counts[b];
  const auto last = all.begin() + static_cast<std::ptrdiff_t>(u) + 1;
  return std::accumulate(all.begin(), last, 0.0) / std::accumulate(all.begin(), all.end(), 0.0);
}

// The continuity correction of one half stands for the step of U.
double normal_p(double a, double b, double largest_u, double tie_term) {
  const double all = a + b;
  const double variance = a * b / 12 * (all + 1 - tie_term / (all * (all - 1)));
  if (!(variance > 0)) return 1;  // all values are the same
  const double z = (largest_u - a * b / 2 - 0.5) / std::sqrt(variance);
  return std::min(1.0, std::erfc(z / std::sqrt(2.0)));
}

Difference measure_difference(const SamplePair& pair, const CompareSettings& settings) {
  Difference difference;
  difference.ratio = median(pair.next) / median(pair.base);
  difference.ci95 = bootstrap_ratio_ci95(pair.base, pair.next, settings.seed);
  difference.p = mann_whitney(pair.base, pair.next).p;
  difference.margin = std::max(settings.threshold, pair.noise_floor);
  difference.enough = std::min(pair.base.size(), pair.next.size()) >= kLeastSamples;
  return difference;
}

Verdict judge(const Difference& difference) {
  // Both bounds are the same change seen from either side, so that exchanging base and next turns
  // faster into slower and nothing else.
  const double above = 1 + difference.margin;
  const double below = 1 / above;
  const Interval& ratio = difference.ci95;
  if (!difference.enough) return Verdict::not_distinguishable;
  if (below <= ratio.low && ratio.high <= above) return Verdict::same;
  if (difference.corrected_p >= kSignificance) return Verdict::not_distinguishable;
  if (ratio.low > above) return Verdict::slower;
  if (ratio.high < below) return Verdict::faster;
  return Verdict::not_distinguishable;
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

Interval bootstrap_median_ci95(const std::vector<double>& samples, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Bootstrap bootstrap(samples, generator);
  std::vector<double> medians(kResamples);
  for (double& result : medians) result = bootstrap.draw_median();
  return percentiles95(std::move(medians));
}

Interval bootstrap_ratio_ci95(const std::vector<double>& base, const std::vector<double>& next,
                              std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Bootstrap of_base(base, generator);
  Bootstrap of_next(next, generator);
  std::vector<double> ratios(kResamples);
  for (double& ratio : ratios) {
    const double divisor = of_base.draw_median();
    ratio = of_next.draw_median() / divisor;
  }
  return percentiles95(std::move(ratios));
}

RankTest mann_whitney(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count_a = static_cast<double>(a.size());
  const auto count_b = static_cast<double>(b.size());
  const Ranks ranks = rank_together(a, b);
  RankTest test;
  test.u = ranks.sum_of_a - count_a * (count_a + 1) / 2;
  test.exact = ranks.tie_term == 0 && std::max(a.size(), b.size()) <= kMostExact;
  const double smaller = std::min(test.u, count_a * count_b - test.u);
  test.p = test.exact ? std::min(1.0, 2 * exact_tail(a.size(), b.size(), smaller))
                      : normal_p(count_a, count_b, count_a * count_b - smaller, ranks.tie_term);
  return test;
}

std::vector<double> correct_for_many(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return p[x] < p[y]; });
  std::vector<double> corrected(p.size());
  double smallest = 1;
  for (std::size_t rank = p.size(); rank > 0; --rank) {
    const double share = static_cast<double>(p.size()) / static_cast<double>(rank);
    smallest = std::min(smallest, p[order[rank - 1]] * share);
    corrected[order[rank - 1]] = smallest;
  }
  return corrected;
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::same:
      return "same";
    case Verdict::not_distinguishable:
      return "not distinguishable";
  }
  return "unknown";
}

std::vector<Difference> compare_samples(const std::vector<SamplePair>& pairs,
                                        const CompareSettings& settings) {
  std::vector<Difference> differences;
  std::vector<double> p;
  for (const SamplePair& pair : pairs) {
    differences.push_back(measure_difference(pair, settings));
    p.push_back(differences.back().p);
  }
  const std::vector<double> corrected = correct_for_many(p);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    differences[i].corrected_p = corrected[i];
    differences[i].verdict = judge(differences[i]);
  }
  return differences;
}

Difference compare_samples(const SamplePair& pair, const CompareSettings& settings) {
  return compare_samples(std::vector<SamplePair>{pair}, settings).front();
}

}  // namespace headroom::sweep
