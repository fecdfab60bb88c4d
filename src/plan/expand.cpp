#include "plan/expand.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/cores.hpp"
#include "plan/auto_rival.hpp"
#include "plan/choices.hpp"
#include "plan/user_weights.hpp"

namespace headroom::plan {
namespace {

template <class T, class Key>
std::vector<T> once_each(std::vector<T> values, Key key, std::string_view option, Plan& plan) {
  std::vector<T> unique;
  for (T& value : values) {
    const bool known = std::any_of(unique.begin(), unique.end(),
                                   [&](const T& other) { return key(other) == key(value); });
    if (!known) unique.push_back(std::move(value));
  }
  if (unique.size() < values.size()) {
    plan.notes.push_back(fmt::format("{}: {} repeated; each is measured once", option,
                                     values.size() - unique.size()));
  }
  return unique;
}

std::vector<Cell> rivals(const std::vector<Formulation>& formulations,
                         const std::vector<BackendChoice>& choices, const std::vector<int>& threads,
                         std::optional<Isa> isa) {
  const int cores = allowed_cores();
  std::vector<Cell> cells;
  for (const BackendChoice& backend : choices) {
    for (const int count : backend.threaded ? threads : std::vector<int>{1}) {
      for (const Formulation formulation : formulations) {
        Cell cell;
        cell.formulation = formulation;
        cell.backend = backend.name;
        cell.threads = count;
        cell.isa = isa;
        cell.order = cells.size();
        if (count > cores) {
          cell.warnings.push_back(fmt::format("{} threads share {} allowed cores", count, cores));
        }
        cells.push_back(std::move(cell));
      }
    }
  }
  return cells;
}

void warn_of_threads(const std::vector<int>& threads, Plan& plan) {
  const int most = *std::max_element(threads.begin(), threads.end());
  if (most > allowed_cores()) {
    plan.warnings.push_back(
        fmt::format("--threads {} is more than the {} cores this process may use; times will "
                    "suffer, and the results carry a warning",
                    most, allowed_cores()));
  }
}

void describe_weights(const UserWeights& weights, Plan& plan) {
  const weights::StoredLayer& layer = weights.layer;
  const bool named = layer.layout == weights::kNamedLayout;
  plan.notes.push_back(fmt::format(
      "weights of {}, {}", weights.path.string(),
      named ? "tensors as named"
            : fmt::format("{}: layout {}",
                          layer.layer.empty() ? "its only layer" : "layer " + layer.layer,
                          layer.layout)));
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(plan.notes, layer.notes);
  append(plan.warnings, weights.survey.warnings);
}

}  // namespace

Plan expand(const Axes& axes, const ExpandOptions& options) {
  Plan plan;
  const auto self = [](const auto& value) { return value; };
  const auto formulations =
      once_each(parse_formulations(axes.formulation), self, "--formulation", plan);
  std::optional<std::string> named = axes.backend;
  const bool with_auto = take_auto(named);
  const auto chosen = once_each(
      named == "" ? std::vector<BackendChoice>{} : parse_backends(named),
      [](const BackendChoice& b) { return b.name; }, "--backend", plan);
  const auto threads = once_each(parse_threads(axes.threads), self, "--threads", plan);
  const std::optional<Isa> isa = parse_forced_isa(axes.isa);
  plan.isa = select_isa(isa);
  warn_of_threads(threads, plan);

  const std::vector<Cell> cells = rivals(formulations, chosen, threads, isa);
  const std::size_t most_shapes =
      options.allow_many ? kMaxShapes : kMaxCells / std::max<std::size_t>(cells.size(), 1);
  const auto weights = find_user_weights(axes);
  if (weights != nullptr) describe_weights(*weights, plan);
  for (const Shape& shape :
       expand_shapes(axes, weights.get(), options.seed, most_shapes, plan.notes)) {
    Group group{shape, cells, weights};
    if (with_auto) add_auto(group, {formulations, threads, isa}, plan.warnings);
    for (Cell& cell : group.cells) cell.id = cell_id(shape, cell);
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

}  // namespace headroom::plan
