#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "core/text/names.hpp"
#include "pick/lines.hpp"
#include "pick/pick.hpp"
#include "pick/storages.hpp"
#include "program/numbers.hpp"

namespace headroom::pick {
namespace {

template <class... Args>
void add(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

constexpr Name<judge::Loss> kVerdicts[] = {{judge::Loss::little, "as good"},
                                           {judge::Loss::unknown, "not distinguishable"},
                                           {judge::Loss::large, "slower"}};

std::string_view verdict(const ShapePick& shape, std::size_t i) {
  if (i > 0) return name_of(kVerdicts, shape.candidates[i].loss);
  const bool alone =
      std::all_of(shape.candidates.begin() + 1, shape.candidates.end(),
                  [](const Candidate& candidate) { return candidate.loss == judge::Loss::large; });
  return alone ? "fastest" : "lowest median";
}

std::string slower(const Candidate& candidate, bool fastest) {
  if (fastest) return "1";
  const judge::Difference& difference = candidate.to_fastest;
  return fmt::format("{:.2f} ({:.2f} - {:.2f})", difference.ratio, difference.ci95.low,
                     difference.ci95.high);
}

void add_shape(std::string& text, const ShapePick& shape) {
  const bool with_numbers = std::any_of(
      shape.candidates.begin(), shape.candidates.end(),
      [](const Candidate& candidate) { return candidate.result->cell.numbers != Numbers{}; });
  const auto numbers = [&](const std::string& name, double error) {
    return with_numbers ? fmt::format(" {:<10} {:>7}", name,
                                      error == 0 ? "nrmse" : fmt::format("{:.1e}", error))
                        : "";
  };
  add(text, "\n{}\n  {:<8} {:<8}{} {:>3}  {:>9}  {:<23}  {:<21}  {:>10}\n", shape.shape.id(),
      "backend", "formul.", numbers("numbers", 0), "thr", "time", "95 % interval",
      "times the fastest", "packed");
  for (std::size_t i = 0; i < shape.candidates.size(); ++i) {
    const record::CellResult& result = *shape.candidates[i].result;
    const record::TimeSummary& time = result.time;
    add(text, "{} {:<8} {:<8}{} {:>3}  {:>9}  {:<23}  {:<21}  {:>10}  {}\n",
        i == shape.chosen ? "*" : " ", result.cell.backend, to_string(result.cell.formulation),
        numbers(headroom::to_string(result.cell.numbers), result.whole_error()), result.threads,
        format_seconds(time.median),
        fmt::format("{} - {}", format_seconds(time.ci95.low), format_seconds(time.ci95.high)),
        slower(shape.candidates[i], i == 0), format_bytes(result.costs->packed_bytes),
        verdict(shape, i));
  }
  for (const std::string& line : shape.left_out) add(text, "  not timed: {}\n", line);
  text += storage_table(shape);
  for (const record::CellResult* peer : shape.peers) {
    add(text, "  not to link: {} {}, {}\n", peer->cell.backend, to_string(peer->cell.formulation),
        format_seconds(peer->time.median));
  }
}

// Shows what using one configuration for all shapes costs where it is not the best.
void add_configurations(std::string& text, const Pick& pick) {
  add(text, "\none backend for all {} shapes, time over the fastest of each shape\n",
      pick.shapes.size());
  add(text, "  {:<26}  {:>14}  {:>7}  {}\n", "", "geometric mean", "worst", "where");
  for (std::size_t i = 0; i < pick.configurations.size(); ++i) {
    const Configuration& configuration = pick.configurations[i];
    add(text, "{} {:<26}  {:>14.2f}  {:>7.2f}  {}{}\n", i == pick.chosen ? "*" : " ",
        to_text(configuration), configuration.mean_loss, configuration.worst_loss,
        configuration.worst_shape,
        configuration.missing == 0
            ? ""
            : fmt::format(" (no time for {} shapes)", configuration.missing));
  }
}

// Two questions with two answers, each of which a program may link.
void add_answers(std::string& text, const Pick& pick) {
  if (pick.answers.empty()) return;
  const bool cached = std::any_of(pick.shapes.begin(), pick.shapes.end(), [](const auto& shape) {
    return demand_of(shape.shape) == Demand::decode && shape.shape.past > 0;
  });
  add(text, "\none for many rows of a sequence (prefill), one for at most {} (decode{})\n",
      kFewRows, cached ? "" : ", measured with an empty cache only");
  for (const Answer& answer : pick.answers) {
    add(text, "  {:<8} {:<26}  {:>5.2f} times the fastest of each shape, {:.2f} at worst{}\n",
        to_string(answer.demand), to_text(answer.configuration), answer.configuration.mean_loss,
        answer.configuration.worst_loss,
        answer.sureness == judge::Sureness::unknown ? "; no answer yet" : "");
  }
}

void add_costs(std::string& text, const Pick& pick) {
  add(text, "\nto link          at run time\n");
  for (const Configuration& configuration : pick.configurations) {
    const LinkCost& cost = pick.costs.at(configuration.backend);
    add(text, "  {:<14} {}; to build: {}\n", configuration.backend, to_text(cost),
        cost.build_packages.empty() ? "nothing"
                                    : fmt::format("{}", fmt::join(cost.build_packages, ", ")));
  }
}

// The configuration and, for a shape alone, its time.
std::string with_time(const Configuration& choice, const Pick& pick) {
  std::string text = to_text(choice);
  if (pick.borrowed) add(text, ", borrowed from {}", pick.borrowed->machine);
  if (pick.shapes.size() > 1) return text;
  for (const Candidate& candidate : pick.shapes.front().candidates) {
    const record::CellResult& result = *candidate.result;
    if (result.cell.backend != choice.backend || result.threads != choice.threads ||
        result.cell.formulation != choice.formulation || result.cell.numbers != choice.numbers) {
      continue;
    }
    add(text, ": {} for {}, 95 % interval {} - {}", format_seconds(result.time.median),
        result.shape.id(), format_seconds(result.time.ci95.low),
        format_seconds(result.time.ci95.high));
  }
  return text;
}

}  // namespace

std::string to_text(const Pick& pick) {
  const Configuration& choice = pick.choice();
  std::string text = no_answer(pick);
  if (!text.empty()) {
    add(text, "; the lowest median is that of {}\nuntil then ", with_time(pick.lowest, pick));
  }
  add(text, "use {}\n", with_time(choice, pick));
  for (const std::string& line : borrowed_lines(pick)) add(text, "{}\n", line);
  add(text, "{}\n", reason(pick));
  add(text, "measured on {}; differences up to {:.3g} % count as the same\n",
      measured_on(*pick.folder), 100 * pick.margin);
  for (const ShapePick& shape : pick.shapes) add_shape(text, shape);
  if (pick.shapes.size() > 1) add_configurations(text, pick);
  add_answers(text, pick);
  add_costs(text, pick);
  add(text, "\n");
  for (const std::string& line : cmake_lines(choice)) add(text, "  {}\n", line);
  add(text, "\n");
  for (const std::string& line : cpp_lines(choice)) add(text, "  {}\n", line);
  return text;
}

}  // namespace headroom::pick
