#include "pick/pick.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/text/shown.hpp"
#include "judge/compare.hpp"
#include "judge/link_choice.hpp"
#include "judge/ranking.hpp"
#include "pick/candidates.hpp"
#include "pick/storages.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::pick {
namespace {

using judge::Contender;
using judge::LinkChoice;
using judge::Loss;
using judge::Sureness;

using Costs = std::map<std::string, LinkCost>;

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
      shapes[i].candidates.push_back({one.result, one.to_best, judge::loss_of(one.to_best)});
    }
  }
}

// Of a backend's candidates the fastest comes first.
Sureness sureness_of(const std::vector<Candidate>& candidates) {
  std::map<std::string, judge::Showing> backends;
  for (const Candidate& candidate : candidates) {
    judge::Showing& showing =
        backends.try_emplace(candidate.result->cell.backend, judge::Showing{false, candidate.loss})
            .first->second;
    if (candidate.to_fastest.verdict != judge::Verdict::slower) showing.leads = true;
  }
  std::vector<judge::Showing> showings;
  for (const auto& [_, showing] : backends) showings.push_back(showing);
  return judge::sureness_of(showings);
}

Sureness surest_of(const std::vector<ShapePick>& shapes) {
  Sureness surest = Sureness::alone;
  for (const ShapePick& shape : shapes) surest = std::min(surest, shape.sureness);
  return surest;
}

// Among all candidates of a shape.
void choose(ShapePick& shape, const Costs& costs) {
  shape.sureness = sureness_of(shape.candidates);
  std::vector<Contender> contenders;
  for (const Candidate& candidate : shape.candidates) {
    contenders.push_back(judge::contender_of(*candidate.result, *shape.candidates.front().result,
                                             candidate.to_fastest,
                                             weight_of(costs.at(candidate.result->cell.backend))));
  }
  shape.chosen = judge::choose_to_link(contenders, shape.sureness).chosen;
}

// Adds a shape's candidate to its configuration. The loss is of the times as measured, as is the
// order of the candidates: corrected by the control, a tied candidate may be below the fastest.
void add(Configuration& configuration, const ShapePick& shape, const Candidate& candidate) {
  const double fastest = shape.candidates.front().result->time.median;
  const double loss = candidate.result->time.median / fastest;
  configuration.worst_error = std::max(configuration.worst_error, candidate.result->whole_error());
  configuration.mean_loss *= loss;  // the product, until all shapes are added
  configuration.loss = std::max(configuration.loss, candidate.loss);
  configuration.level = configuration.level && judge::may_be_as_fast(candidate.to_fastest);
  if (candidate.to_fastest.ci95.high > configuration.times_fastest.high) {
    configuration.times_fastest = candidate.to_fastest.ci95;
  }
  --configuration.missing;
  if (configuration.worst_shape.empty() || loss > configuration.worst_loss) {
    configuration.worst_loss = loss;
    configuration.worst_shape = shape.shape.id();
  }
}

// What makes two cells of different shapes one configuration.
using Key = std::tuple<std::string, Formulation, int, Numbers>;

Key key_of(const record::CellResult& result) {
  return {result.cell.backend, result.cell.formulation, result.threads, result.cell.numbers};
}

std::vector<Configuration> configurations_of(const std::vector<ShapePick>& shapes) {
  std::map<Key, Configuration> all;
  for (const ShapePick& shape : shapes) {
    for (const Candidate& candidate : shape.candidates) {
      const record::CellResult& result = *candidate.result;
      const auto [place, fresh] = all.try_emplace(key_of(result));
      if (fresh) {
        place->second = {.backend = result.cell.backend,
                         .formulation = result.cell.formulation,
                         .threads = result.threads,
                         .numbers = result.cell.numbers,
                         .missing = shapes.size()};
      }
      add(place->second, shape, candidate);
    }
  }
  std::vector<Configuration> list;
  for (auto& [_, configuration] : all) {
    const auto measured = static_cast<double>(shapes.size() - configuration.missing);
    configuration.mean_loss = std::pow(configuration.mean_loss, 1 / measured);
    list.push_back(std::move(configuration));
  }
  return list;
}

Contender contender_of(const Configuration& one, const Costs& costs) {
  return {one.missing,     std::log(one.mean_loss),
          one.loss,        weight_of(costs.at(one.backend)),
          one.formulation, one.level};
}

bool faster(const Configuration& a, const Configuration& b) {
  return std::tie(a.missing, a.mean_loss) < std::tie(b.missing, b.mean_loss);
}

// Keeps only the best configuration of each backend, where losing little in every shape counts
// most, or, where there is no answer yet, the one that is preferred. The best backend comes first.
void keep_best(std::vector<Configuration>& configurations, const Costs& costs, Sureness sureness) {
  std::stable_sort(configurations.begin(), configurations.end(), [&](const auto& a, const auto& b) {
    if (sureness == Sureness::unknown) {
      return preferred(contender_of(a, costs), contender_of(b, costs));
    }
    return std::tie(a.missing, a.loss, a.mean_loss) < std::tie(b.missing, b.loss, b.mean_loss);
  });
  std::vector<Configuration> best;
  for (Configuration& configuration : configurations) {
    const bool known = std::any_of(best.begin(), best.end(), [&](const Configuration& other) {
      return other.backend == configuration.backend;
    });
    if (!known) best.push_back(std::move(configuration));
  }
  std::stable_sort(best.begin(), best.end(), faster);
  configurations = std::move(best);
}

LinkChoice choice_of(const std::vector<Configuration>& configurations, const Costs& costs,
                     Sureness sureness) {
  std::vector<Contender> contenders;
  for (const Configuration& one : configurations) contenders.push_back(contender_of(one, costs));
  return judge::choose_to_link(contenders, sureness);
}

// Adds the candidates that leave a configuration open.
void add_open(Pick& pick, const Configuration& configuration, std::optional<Demand> demand) {
  const Key key(configuration.backend, configuration.formulation, configuration.threads,
                configuration.numbers);
  for (std::size_t s = 0; s < pick.shapes.size(); ++s) {
    const ShapePick& shape = pick.shapes[s];
    if (demand && demand_of(shape.shape) != *demand) continue;
    for (std::size_t c = 1; c < shape.candidates.size(); ++c) {
      const Candidate& candidate = shape.candidates[c];
      if (candidate.loss == Loss::unknown && key_of(*candidate.result) == key) {
        pick.open_candidates.push_back({s, c});
      }
    }
  }
}

// A program may hold a layer for prompts and one for the steps after them.
void answer(Pick& pick) {
  std::vector<Answer> answers;
  for (const Demand demand : {Demand::prefill, Demand::decode}) {
    std::vector<ShapePick> some;
    for (const ShapePick& shape : pick.shapes) {
      if (demand_of(shape.shape) == demand) some.push_back(shape);
    }
    if (some.empty()) return;
    const Sureness sureness = surest_of(some);
    std::vector<Configuration> configurations = configurations_of(some);
    keep_best(configurations, pick.costs, sureness);
    const LinkChoice choice = choice_of(configurations, pick.costs, sureness);
    answers.push_back({demand, configurations[choice.chosen], sureness, {}});
    for (const std::size_t open : choice.open) {
      answers.back().open.push_back(configurations[open]);
    }
  }
  pick.answers = std::move(answers);
}

void find_costs(const std::vector<ShapePick>& shapes, Costs& costs) {
  for (const ShapePick& shape : shapes) {
    for (const Candidate& candidate : shape.candidates) {
      const std::string& backend = candidate.result->cell.backend;
      if (!costs.contains(backend)) costs.emplace(backend, link_cost(backend));
    }
  }
}

}  // namespace

Pick pick(const record::ResultsFolder& folder, const std::vector<Case>& shapes,
          const Filters& filters) {
  Pick pick;
  pick.folder = &folder;
  pick.shapes = collect(folder, shapes, filters);
  find_costs(pick.shapes, pick.costs);
  const double noise_floor = judge::recorded_noise_floor(folder);
  pick.margin = margin_of(folder);
  rank(pick.shapes, noise_floor);
  for (ShapePick& shape : pick.shapes) choose(shape, pick.costs);
  compare_storages(filters.stored, noise_floor, pick.shapes);
  pick.sureness = surest_of(pick.shapes);
  pick.configurations = configurations_of(pick.shapes);
  pick.lowest = *std::min_element(pick.configurations.begin(), pick.configurations.end(), faster);
  keep_best(pick.configurations, pick.costs, pick.sureness);
  const LinkChoice choice = choice_of(pick.configurations, pick.costs, pick.sureness);
  pick.chosen = choice.chosen;
  pick.open = choice.open;
  answer(pick);
  for (const std::size_t open : pick.open) add_open(pick, pick.configurations[open], {});
  for (const Answer& each : pick.answers) {
    for (const Configuration& open : each.open) add_open(pick, open, each.demand);
  }
  return pick;
}

bool Pick::unclear() const {
  return sureness == Sureness::unknown ||
         std::any_of(answers.begin(), answers.end(),
                     [](const Answer& answer) { return answer.sureness == Sureness::unknown; });
}

double margin_of(const record::ResultsFolder& folder) {
  return std::max(judge::CompareSettings().threshold, judge::recorded_noise_floor(folder));
}

std::vector<ShapePick> pick_each(const record::ResultsFolder& folder,
                                 const std::vector<Case>& shapes, const Filters& filters) {
  const Collector collector(folder, filters);
  if (collector.shapes().empty()) return {};
  const double noise_floor = judge::recorded_noise_floor(folder);
  std::vector<ShapePick> picks;
  Costs costs;
  for (const Case& shape : shapes.empty() ? collector.shapes() : shapes) {
    if (!collector.has(shape)) continue;
    std::vector<ShapePick> alone;
    try {
      alone.push_back(collector.of(shape));
    } catch (const std::exception&) {
      continue;
    }
    find_costs(alone, costs);
    rank(alone, noise_floor);
    choose(alone.front(), costs);
    compare_storages(filters.stored, noise_floor, alone);
    picks.push_back(std::move(alone.front()));
  }
  return picks;
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

std::string left_out_attention(const record::ResultsFolder& folder) {
  const auto count = std::count_if(
      folder.results.begin(), folder.results.end(),
      [](const record::CellResult& result) { return !result.shape.has_projections(); });
  if (count == 0) return "";
  return fmt::format("{} of attention alone {} not judged: pick chooses for layers",
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
