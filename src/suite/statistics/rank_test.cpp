#include "statistics/rank_test.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace headroom::statistics {
namespace {

// The rank sum of `a` among all values, where ties share their mean rank, and the sum of t^3 - t
// over all groups of t ties.
struct Ranks {
  double sum_of_a = 0;
  double tie_term = 0;
};

Ranks rank_together(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;  // value, whether it is from a
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

// P(U <= u), from the number of arrangements for each U. The recurrence: the largest of all values
// is either from a, and then exceeds all of b, or from b, and then adds nothing to U.
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

// U is discrete, hence the continuity correction of one half.
double normal_p(double a, double b, double largest_u, double tie_term) {
  const double all = a + b;
  const double variance = a * b / 12 * (all + 1 - tie_term / (all * (all - 1)));
  if (!(variance > 0)) return 1;  // all values are the same
  const double z = (largest_u - a * b / 2 - 0.5) / std::sqrt(variance);
  return std::min(1.0, std::erfc(z / std::sqrt(2.0)));
}

}  // namespace

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

}  // namespace headroom::statistics
