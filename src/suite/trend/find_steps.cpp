#include "trend/find_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "statistics/many_tests.hpp"
#include "statistics/student_t.hpp"
#include "trend/stretches.hpp"

namespace headroom::trend {
namespace {

// The borders of the parts between the cuts, from 0 to the number of levels.
std::vector<std::size_t> borders(const Levels& levels, const std::vector<std::size_t>& cuts) {
  std::vector<std::size_t> all{0};
  all.insert(all.end(), cuts.begin(), cuts.end());
  all.push_back(levels.size());
  return all;
}

// The place between two borders where both sides differ most.
std::size_t best_place(const Levels& levels, std::size_t begin, std::size_t end) {
  std::size_t best = begin + kLeastOfASide;
  double most = -1;
  for (std::size_t at = best; at + kLeastOfASide <= end; ++at) {
    const double difference = mean_of(levels, at, end) - mean_of(levels, begin, at);
    const double between =
        difference * difference * static_cast<double>(at - begin) * static_cast<double>(end - at);
    if (between <= most) continue;
    most = between;
    best = at;
  }
  return best;
}

// The first cut was made while the others were unknown.
void move_to_best_places(const Levels& levels, std::vector<std::size_t>& cuts) {
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : cuts[i - 1];
    const std::size_t end = i + 1 == cuts.size() ? levels.size() : cuts[i + 1];
    cuts[i] = best_place(levels, begin, end);
  }
}

// The spread that is left between the cuts.
struct Spread {
  double variance = 0;
  double freedom = 0;
};

Spread spread_of(const Levels& levels, const std::vector<std::size_t>& borders) {
  double squares = 0;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    squares += squares_of(levels, borders[i], borders[i + 1]);
  }
  const double freedom =
      static_cast<double>(levels.size()) - static_cast<double>(borders.size() - 1);
  return {std::max(squares / freedom, within_of(levels, 0, levels.size())), freedom};
}

FoundStep step_between(double before, double after, double error, double freedom) {
  const double reach = statistics::student_t_quantile(0.05, freedom) * error;
  const double difference = after - before;
  FoundStep step;
  step.ratio = std::exp(difference);
  step.ci95 = {std::exp(difference - reach), std::exp(difference + reach)};
  return step;
}

// Beyond the margin, as a share of it; below 1 it does not matter.
double weight_of(const FoundStep& step, double margin) {
  if (step.corrected_p >= 1 || (step.ci95.low <= 1 && step.ci95.high >= 1)) return 0;
  const double least = std::log(1 + margin);
  const double most = std::abs(std::log(step.ratio));
  return least > 0 ? most / least : std::numeric_limits<double>::infinity();
}

// The mean without the level that lies furthest in the direction of `sign`.
double mean_without_furthest(const Levels& levels, std::size_t begin, std::size_t end,
                             double sign) {
  double furthest = sign * levels[begin].value;
  for (std::size_t i = begin; i < end; ++i) {
    furthest = std::max(furthest, sign * levels[i].value);
  }
  const auto count = static_cast<double>(end - begin);
  return (count * mean_of(levels, begin, end) - sign * furthest) / (count - 1);
}

// Whether half of a step is left without the version on each side that speaks most for it. If not,
// it is one bad run with its neighbour.
bool holds_without_one(const Levels& levels, const std::vector<std::size_t>& all, std::size_t i) {
  const double step = mean_of(levels, all[i], all[i + 1]) - mean_of(levels, all[i - 1], all[i]);
  const double sign = step < 0 ? -1 : 1;
  const double left = mean_without_furthest(levels, all[i], all[i + 1], sign) -
                      mean_without_furthest(levels, all[i - 1], all[i], -sign);
  return sign * left >= 0.5 * sign * step;
}

std::vector<FoundStep> steps_at(const Levels& levels, const Cuts& cuts) {
  const std::vector<std::size_t> all = borders(levels, cuts.at);
  const Spread spread = spread_of(levels, all);
  std::vector<FoundStep> steps;
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    const double share =
        1 / static_cast<double>(all[i] - all[i - 1]) + 1 / static_cast<double>(all[i + 1] - all[i]);
    FoundStep step =
        step_between(mean_of(levels, all[i - 1], all[i]), mean_of(levels, all[i], all[i + 1]),
                     std::sqrt(spread.variance * share), spread.freedom);
    step.at = all[i];
    step.corrected_p = holds_without_one(levels, all, i) ? cuts.p : 1;
    steps.push_back(step);
  }
  return steps;
}

// Drops the least step as long as one does not matter: without it, its neighbours are others.
std::vector<FoundStep> steps_that_matter(const Judged& judged, Cuts cuts) {
  if (cuts.at.empty()) return {};
  move_to_best_places(judged.levels, cuts.at);
  while (!cuts.at.empty()) {
    std::vector<FoundStep> steps = steps_at(judged.levels, cuts);
    const auto least =
        std::min_element(steps.begin(), steps.end(), [&](const FoundStep& a, const FoundStep& b) {
          return weight_of(a, judged.margin) < weight_of(b, judged.margin);
        });
    if (weight_of(*least, judged.margin) > 1) return steps;
    cuts.at.erase(cuts.at.begin() + (least - steps.begin()));
  }
  return {};
}

// The last level beside those since the last step, if there is any spread to judge by.
std::optional<FoundStep> newest_alone(const Judged& judged, const std::vector<FoundStep>& steps) {
  const Levels& levels = judged.levels;
  const std::size_t begin = steps.empty() ? 0 : steps.back().at;
  const std::size_t last = levels.size() - 1;
  if (levels.size() < 3 || last < begin + 1) return std::nullopt;
  std::vector<std::size_t> all{0};
  for (const FoundStep& step : steps) all.push_back(step.at);
  all.push_back(last);
  const Levels before(levels.begin(), levels.end() - 1);
  const Spread spread = spread_of(before, all);
  if (!(spread.freedom >= 1)) return std::nullopt;
  const double variance = spread.variance * (1 + 1 / static_cast<double>(last - begin));
  const double mean = mean_of(levels, begin, last);
  FoundStep step = step_between(mean, levels[last].value, std::sqrt(variance), spread.freedom);
  step.at = last;
  const double difference = levels[last].value - mean;
  step.corrected_p = p_of(difference * difference, variance, spread.freedom);
  return step;
}

void find_maybes(const std::vector<Judged>& series, std::vector<FoundSteps>& found) {
  std::vector<FoundSteps*> asked;
  std::vector<double> p;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].levels.empty()) continue;
    found[i].maybe = newest_alone(series[i], found[i].steps);
    if (!found[i].maybe) continue;
    p.push_back(found[i].maybe->corrected_p);
    asked.push_back(&found[i]);
    if (!(weight_of(*found[i].maybe, series[i].margin) > 1)) found[i].maybe.reset();
  }
  const std::vector<double> corrected = statistics::correct_for_many(p);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::optional<FoundStep>& maybe = asked[i]->maybe;
    if (!maybe) continue;
    maybe->corrected_p = corrected[i];
    if (corrected[i] >= kFalseMaybes) maybe.reset();
  }
}

}  // namespace

std::vector<FoundSteps> find_steps(const std::vector<Judged>& series) {
  std::vector<const Levels*> levels;
  for (const Judged& judged : series) levels.push_back(&judged.levels);
  std::vector<Cuts> cuts = cut(levels);
  std::vector<FoundSteps> found(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    found[i].steps = steps_that_matter(series[i], std::move(cuts[i]));
  }
  find_maybes(series, found);
  return found;
}

}  // namespace headroom::trend
