#include "sweep/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

namespace headroom::sweep {
namespace {

constexpr std::size_t kResamples = 2000;

// Ranks of the two middle values of a sample; for an odd count the same one twice.
struct Middle {
  std::size_t low = 0;
  std::size_t high = 0;
};

double at(const std::vector<double>& sorted, const Middle& middle) {
  return 0.5 * (sorted[middle.low] + sorted[middle.high]);
}

// The middles of samples drawn, with replacement, from `count` sorted values. They depend on the
// count alone, so that many comparisons of as many samples share them.
std::vector<Middle> draw_middles(std::size_t count, std::mt19937_64& generator) {
  std::vector<std::size_t> drawn(count);
  std::vector<Middle> middles(kResamples);
  for (Middle& middle : middles) {
    // Not std::uniform_int_distribution, whose values differ between standard libraries; the bias
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
  std::nth_element(low, high, values.end());
  return {*low, *high};
}

// The resamples of pairs with as many samples a side.
struct PairMiddles {
  PairMiddles(std::size_t base_count, std::size_t next_count, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    base = draw_middles(base_count, generator);
    next = draw_middles(next_count, generator);
  }

  Interval ratio_ci95(const std::vector<double>& base_samples,
                      const std::vector<double>& next_samples) const {
    const std::vector<double> divisors = sorted(base_samples);
    const std::vector<double> dividends = sorted(next_samples);
    std::vector<double> ratios(kResamples);
    for (std::size_t i = 0; i < kResamples; ++i) {
      ratios[i] = at(dividends, next[i]) / at(divisors, base[i]);
    }
    return percentiles95(std::move(ratios));
  }

  std::vector<Middle> base, next;
};

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

Difference measure_difference(const SamplePair& pair, const CompareSettings& settings,
                              const PairMiddles& middles) {
  Difference difference;
  difference.ratio = median(pair.next) / median(pair.base);
  difference.ci95 = middles.ratio_ci95(pair.base, pair.next);
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
  const std::vector<double> values = sorted(samples);
  std::vector<double> medians;
  medians.reserve(kResamples);
  for (const Middle& middle : draw_middles(values.size(), generator)) {
    medians.push_back(at(values, middle));
  }
  return percentiles95(std::move(medians));
}

Interval bootstrap_ratio_ci95(const std::vector<double>& base, const std::vector<double>& next,
                              std::uint64_t seed) {
  return PairMiddles(base.size(), next.size(), seed).ratio_ci95(base, next);
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
  std::map<std::pair<std::size_t, std::size_t>, PairMiddles> middles;
  for (const SamplePair& pair : pairs) {
    const std::pair counts(pair.base.size(), pair.next.size());
    const auto found =
        middles.try_emplace(counts, counts.first, counts.second, settings.seed).first;
    differences.push_back(measure_difference(pair, settings, found->second));
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
