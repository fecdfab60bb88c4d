#include "pick/pick.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/text/shown.hpp"
#include "judge/compare.hpp"
#include "judge/ranking.hpp"
#include "pick/candidates.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::pick {
namespace {

using judge::Difference;
using judge::Verdict;

// `compare_samples` distinguishes nothing with fewer than five samples per side. Here that would
// tie every slow backend with the fastest, so only the interval decides.
bool is_tied(const Difference& difference) {
  if (difference.enough) return difference.verdict != Verdict::slower;
  return difference.ci95.low <= 1 + difference.margin;
}

void rank(std::vector<ShapePick>& shapes, double noise_floor) {
  std::vector<std::vector<judge::Ranked>> ranked;
  for (const ShapePick& shape : shapes) {
    ranked.emplace_back();
    for (const Candidate& candidate : shape.candidates)
      ranked.back().push_back({candidate.result, {}});
  }
  judge::rank_each(ranked, noise_floor);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    shapes[i].candidates.clear();
    for (const judge::Ranked& one : ranked[i]) {
      shapes[i].candidates.push_back({one.result, one.to_best, is_tied(one.to_best)});
    }
  }
}

// The lightest of the tied candidates, and the fastest of its backend.
void choose(ShapePick& shape, const std::map<std::string, LinkCost>& costs) {
  const auto cost = [&](std::size_t i) {
    return costs.at(shape.candidates[i].result->cell.backend);
  };
  for (std::size_t i = 1; i < shape.candidates.size(); ++i) {
    if (shape.candidates[i].tied && lighter(cost(i), cost(shape.chosen))) shape.chosen = i;
  }
}

// Adds a shape's candidate to its configuration. The loss is of the times as measured, as is the
// order of the candidates: corrected by the control, a tied candidate may be below the fastest.
void add(Configuration& configuration, const ShapePick& shape, const Candidate& candidate) {
  const double fastest = shape.candidates.front().result->time.median;
  const double loss = candidate.result->time.median / fastest;
  configuration.worst_error = std::max(configuration.worst_error, candidate.result->error->nrmse);
  configuration.mean_loss *= loss;  // the product, until all shapes are added
  configuration.tied = configuration.tied && candidate.tied;
  --configuration.missing;
  if (configuration.worst_shape.empty() || loss > configuration.worst_loss) {
    configuration.worst_loss = loss;
    configuration.worst_shape = shape.shape.id();
  }
}

std::vector<Configuration> configurations_of(const std::vector<ShapePick>& shapes) {
  std::map<std::tuple<std::string, Formulation, int, Precision>, Configuration> all;
  for (const ShapePick& shape : shapes) {
    for (const Candidate& candidate : shape.candidates) {
      const record::CellResult& result = *candidate.result;
      const auto key = std::make_tuple(result.cell.backend, result.cell.formulation, result.threads,
                                       result.cell.numbers.precision);
      const auto [place, fresh] = all.try_emplace(key);
      if (fresh) {
        place->second = {result.cell.backend,
                         result.cell.formulation,
                         result.threads,
                         result.cell.numbers,
                         0,
                         1,
                         1,
                         "",
                         shapes.size(),
                         true};
      }
      add(place->second, shape, candidate);
    }
  }
  std::vector<Configuration> list;
  for (auto& [_, configuration] : all) {
    const auto measured = static_cast<double>(shapes.size() - configuration.missing);
    configuration.mean_loss = std::pow(configuration.mean_loss, 1 / measured);
    configuration.tied = configuration.tied && configuration.missing == 0;
    list.push_back(std::move(configuration));
  }
  return list;
}

// Keeps only the best configuration of each backend, where being tied for every shape counts most.
// The best backend comes first.
void keep_best(std::vector<Configuration>& configurations) {
  std::stable_sort(configurations.begin(), configurations.end(), [](const auto& a, const auto& b) {
    return std::make_tuple(a.missing, !a.tied, a.mean_loss) <
           std::make_tuple(b.missing, !b.tied, b.mean_loss);
  });
  std::vector<Configuration> best;
  for (Configuration& configuration : configurations) {
    const bool known = std::any_of(best.begin(), best.end(), [&](const Configuration& other) {
      return other.backend == configuration.backend;
    });
    if (!known) best.push_back(std::move(configuration));
  }
  std::stable_sort(best.begin(), best.end(), [](const auto& a, const auto& b) {
    return std::tie(a.missing, a.mean_loss) < std::tie(b.missing, b.mean_loss);
  });
  configurations = std::move(best);
}

// The lightest of those that are tied with the fastest everywhere. @return its place
std::size_t lightest(const std::vector<Configuration>& configurations,
                     const std::map<std::string, LinkCost>& costs) {
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < configurations.size(); ++i) {
    const Configuration& other = configurations[i];
    if (other.tied && lighter(costs.at(other.backend), costs.at(configurations[chosen].backend))) {
      chosen = i;
    }
  }
  return chosen;
}

// A program may hold a layer for prompts and one for the steps after them.
std::vector<Answer> answers_of(const std::vector<ShapePick>& shapes,
                               const std::map<std::string, LinkCost>& costs) {
  std::vector<Answer> answers;
  for (const Demand demand : {Demand::prefill, Demand::decode}) {
    std::vector<ShapePick> some;
    for (const ShapePick& shape : shapes) {
      if (demand_of(shape.shape) == demand) some.push_back(shape);
    }
    if (some.empty()) return {};
    std::vector<Configuration> configurations = configurations_of(some);
    keep_best(configurations);
    answers.push_back({demand, configurations[lightest(configurations, costs)]});
  }
  return answers;
}

}  // namespace

Pick pick(const record::ResultsFolder& folder, const std::vector<Shape>& shapes,
          const Filters& filters) {
  Pick pick;
  pick.folder = &folder;
  pick.shapes = collect(folder, shapes, filters);
  for (const ShapePick& shape : pick.shapes) {
    for (const Candidate& candidate : shape.candidates) {
      const std::string& backend = candidate.result->cell.backend;
      if (!pick.costs.contains(backend)) pick.costs.emplace(backend, link_cost(backend));
    }
  }
  const double noise_floor = judge::recorded_noise_floor(folder);
  pick.margin = std::max(judge::CompareSettings().threshold, noise_floor);
  rank(pick.shapes, noise_floor);
  for (ShapePick& shape : pick.shapes) choose(shape, pick.costs);
  pick.configurations = configurations_of(pick.shapes);
  keep_best(pick.configurations);
  pick.chosen = lightest(pick.configurations, pick.costs);
  pick.answers = answers_of(pick.shapes, pick.costs);
  return pick;
}

std::string left_out_ranks(const record::ResultsFolder& folder) {
  const auto count =
      std::count_if(folder.results.begin(), folder.results.end(),
                    [](const record::CellResult& result) { return result.cell.ranks > 1; });
  if (count == 0) return "";
  return fmt::format(
      "{} of several ranks {} not judged: a program is linked as one process, so the choice is "
      "among cells of one rank",
      counted(count, "cell"), count == 1 ? "was" : "were");
}

std::string other_machine(const record::ResultsFolder& folder) {
  const tuning::Machine here = tuning::this_machine();
  const tuning::Machine there{text_at(folder.environment, "/processor/name"),
                              text_at(folder.environment, "/processor/architecture")};
  if (here == there) return "";
  return fmt::format("{} was measured on '{}' ({}), but this is '{}' ({})", shown_path(folder.path),
                     there.processor, there.architecture, here.processor, here.architecture);
}

}  // namespace headroom::pick
