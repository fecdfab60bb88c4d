#include "plan/auto_rival.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "plan/choices.hpp"

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
  if (!choice.warning.empty()) cell.warnings.push_back(choice.warning);
  return cell;
}

}  // namespace

bool take_auto(std::optional<std::string>& backends) {
  if (!backends) return false;
  std::vector<std::string> names = split_names("--backend", *backends);
  if (std::erase(names, kAuto) == 0) return false;
  backends = fmt::format("{}", fmt::join(names, ","));
  return true;
}

void add_auto(Group& group, const RivalAxes& axes, std::vector<std::string>& warnings) {
  std::vector<std::optional<Formulation>> wanted{std::nullopt};
  if (axes.formulations.size() < kFormulations) {
    wanted.assign(axes.formulations.begin(), axes.formulations.end());
  }
  for (const int threads : axes.threads) {
    for (const std::optional<Formulation> formulation : wanted) {
      const AttentionOptions options{std::string(kAuto), formulation, threads, axes.isa};
      const Choice choice = choose_backend(group.shape, options);
      group.cells.push_back(auto_cell(choice, options));
      group.cells.back().order = group.cells.size() - 1;
      const std::string& warning = choice.warning;
      const bool told = std::find(warnings.begin(), warnings.end(), warning) != warnings.end();
      if (!warning.empty() && !told) warnings.push_back(warning);
    }
  }
}

}  // namespace headroom::plan
