#include "trend/stretches.hpp"

#include <algorithm>
#include <utility>

#include "statistics/many_tests.hpp"

namespace headroom::trend {
namespace {

// Levels from `begin` up to `end`, of one series.
struct Part {
  std::size_t series = 0, begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

bool may_stand_alone(std::size_t count) { return count == 0 || count >= kLeastOfASide; }

// The stretch that differs most from the rest of its part.
struct Stretch {
  std::size_t begin = 0, end = 0;
  double p = 1;  // corrected for the places, not yet for the series
};

Stretch best_stretch(const Levels& levels, const Part& part) {
  const std::size_t count = part.size();
  const auto all = static_cast<double>(count);
  const double mean = mean_of(levels, part.begin, part.end);
  std::vector<double> sums{0};
  for (std::size_t i = part.begin; i < part.end; ++i) {
    sums.push_back(sums.back() + levels[i].value - mean);
  }
  Stretch best;
  double most = -1;
  std::size_t places = 0;
  // One that begins at the front is the rest of one that reaches the end.
  for (std::size_t i = kLeastOfASide; i + kLeastOfASide <= count; ++i) {
    for (std::size_t j = i + kLeastOfASide; j <= count; ++j) {
      if (!may_stand_alone(count - j)) continue;
      ++places;
      const auto length = static_cast<double>(j - i);
      const double sum = sums[j] - sums[i];
      const double between = sum * sum * all / (length * (all - length));
      if (between <= most) continue;
      most = between;
      best.begin = part.begin + i;
      best.end = part.begin + j;
    }
  }
  const double left = std::max(0.0, squares_of(levels, part.begin, part.end) - most);
  const double variance = std::max(left / (all - 2), within_of(levels, part.begin, part.end));
  best.p = std::min(1.0, static_cast<double>(places) * p_of(most, variance, all - 2));
  return best;
}

void add_cut(Cuts& cuts, std::size_t at, double p) {
  cuts.at.insert(std::upper_bound(cuts.at.begin(), cuts.at.end(), at), at);
  cuts.p = std::max(cuts.p, p);
}

}  // namespace

std::vector<Cuts> cut(const std::vector<const Levels*>& series) {
  std::vector<Cuts> cuts(series.size());
  std::vector<Part> parts;
  for (std::size_t i = 0; i < series.size(); ++i) parts.push_back({i, 0, series[i]->size()});
  while (!parts.empty()) {
    std::erase_if(parts, [](const Part& part) { return part.size() < kLeastVersions; });
    std::vector<Stretch> best;
    std::vector<double> p;
    for (const Part& part : parts) {
      best.push_back(best_stretch(*series[part.series], part));
      p.push_back(best.back().p);
    }
    const std::vector<double> corrected = statistics::correct_for_many(p);
    std::vector<Part> next;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (corrected[i] >= kFalseSteps) continue;
      const Part& part = parts[i];
      add_cut(cuts[part.series], best[i].begin, corrected[i]);
      if (best[i].end < part.end) add_cut(cuts[part.series], best[i].end, corrected[i]);
      next.push_back({part.series, part.begin, best[i].begin});
      next.push_back({part.series, best[i].begin, best[i].end});
      next.push_back({part.series, best[i].end, part.end});
    }
    parts = std::move(next);
  }
  return cuts;
}

}  // namespace headroom::trend
