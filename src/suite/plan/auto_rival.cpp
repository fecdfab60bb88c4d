#include "plan/auto_rival.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/case_layer.hpp"
#include "core/element/layer_numbers.hpp"
#include "core/element/numbers_of.hpp"
#include "headroom/error.hpp"

namespace headroom::plan {
namespace {

constexpr std::size_t kFormulations = 3;

Cell auto_cell(const Choice& choice, const AttentionOptions& options) {
  Cell cell;
  cell.formulation = choice.formulation;
  cell.backend = kAuto;
  cell.chosen = choice.backend;
  cell.threads = options.threads;
  cell.isa = options.isa;
  cell.unit = options.unit;
  cell.numbers = numbers_of(options, options.precision.value_or(choice.precision));
  cell.any_precision = !options.precision;
  if (!choice.warning.empty()) cell.warnings.push_back(choice.warning);
  if (choice.backend.empty()) {
    cell.unsupported = true;
    cell.skip_reason = choice.precision_reason;
  } else if (choice.precision != cell.numbers.precision) {
    cell.unsupported = true;
    cell.skip_reason = fmt::format("auto takes {}, which computes {} as {}: {}", choice.backend,
                                   to_string(cell.numbers.precision), to_string(choice.precision),
                                   choice.precision_reason);
  }
  return cell;
}

// No backend may have such numbers; then the cell says so, as that of a named backend does.
Choice choose(const Case& shape, const AttentionOptions& options) {
  try {
    return choose_for(shape, options);
  } catch (const Unavailable& error) {
    if (numbers_of(options) == Numbers{}) throw;
    Choice none;
    none.formulation = options.formulation.value_or(Formulation::fused);
    none.precision_reason = error.what();
    return none;
  }
}

}  // namespace

void add_auto(Group& group, const RivalAxes& axes, std::vector<std::string>& warnings) {
  std::vector<std::optional<Formulation>> wanted{std::nullopt};
  if (axes.formulations.size() < kFormulations) {
    wanted.assign(axes.formulations.begin(), axes.formulations.end());
  }
  const auto add = [&](const AttentionOptions& options, int ranks) {
    const Choice choice = choose(group.shape, options);
    group.cells.push_back(auto_cell(choice, options));
    group.cells.back().ranks = ranks;
    group.cells.back().order = group.cells.size() - 1;
    const std::string& warning = choice.warning;
    const bool told = std::find(warnings.begin(), warnings.end(), warning) != warnings.end();
    if (!warning.empty() && !told) warnings.push_back(warning);
  };
  for (const int ranks : axes.ranks) {
    for (const int threads : axes.threads) {
      for (const std::optional<Formulation> formulation : wanted) {
        for (const std::optional<Precision> precision : axes.asked) {
          AttentionOptions options{std::string(kAuto), formulation, threads, axes.isa};
          options.unit = axes.unit;
          options.precision = precision;
          options.dtype = axes.stored.dtype;
          options.weights_dtype = axes.stored.weights;
          options.cache_dtype = axes.stored.cache;
          add(options, ranks);
        }
      }
    }
  }
}

std::vector<Precision> precisions_by_name(const std::vector<std::optional<Precision>>& asked) {
  std::vector<Precision> precisions;
  const auto add = [&](Precision precision) {
    const auto known = std::find(precisions.begin(), precisions.end(), precision);
    if (known == precisions.end()) precisions.push_back(precision);
  };
  for (const std::optional<Precision> each : asked) {
    if (each) {
      add(*each);
    } else {
      std::for_each(kPrecisionsLikeF32.begin(), kPrecisionsLikeF32.end(), add);
    }
  }
  return precisions;
}

bool has_parts(const std::vector<Cell>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const Cell& cell) { return cell.numbers.precision != Precision::f32; });
}

void drop_declined_parts(const std::vector<std::optional<Precision>>& asked,
                         std::vector<Cell>& cells) {
  std::erase_if(cells, [&](const Cell& cell) {
    const Precision precision = cell.numbers.precision;
    return cell.unsupported && precision != Precision::f32 &&
           std::find(asked.begin(), asked.end(), precision) == asked.end();
  });
}

}  // namespace headroom::plan
