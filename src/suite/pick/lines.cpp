#include "pick/lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "program/json_differences.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"

namespace headroom::pick {

std::vector<std::string> cmake_lines(const Configuration& choice) {
  return {fmt::format("find_package(headroom REQUIRED COMPONENTS {})", choice.backend),
          fmt::format("target_link_libraries(your_program PRIVATE headroom::{})", choice.backend)};
}

std::vector<std::string> cpp_lines(const Configuration& choice) {
  std::vector<std::string> lines{fmt::format("options.backend = \"{}\";", choice.backend),
                                 fmt::format("options.formulation = headroom::Formulation::{};",
                                             to_string(choice.formulation)),
                                 fmt::format("options.threads = {};", choice.threads)};
  // f32 is what every layer does by itself.
  if (choice.numbers.precision != Precision::f32) {
    lines.push_back(fmt::format("options.precision = headroom::Precision::{};",
                                to_string(choice.numbers.precision)));
  }
  if (choice.numbers.dtype != Dtype::f32) {
    lines.push_back(
        fmt::format("options.dtype = headroom::Dtype::{};", to_string(choice.numbers.dtype)));
  }
  if (choice.numbers.weights) {
    lines.push_back(fmt::format("options.weights_dtype = headroom::Storage::{};",
                                to_string(*choice.numbers.weights)));
  }
  if (choice.numbers.cache) {
    lines.push_back(fmt::format("options.cache_dtype = headroom::Storage::{};",
                                to_string(*choice.numbers.cache)));
  }
  return lines;
}

std::string to_text(const Configuration& choice) {
  const std::string name = fmt::format("{}/{}", to_string(choice.formulation), choice.backend);
  const std::string threads = counted(choice.threads, "thread");
  if (choice.numbers == Numbers{}) return fmt::format("{}, {}", name, threads);
  return fmt::format("{}, {}, {}", name, headroom::to_string(choice.numbers), threads);
}

namespace {

// Backends with fewer dependencies that may do as well.
std::string open_words(const Pick& pick) {
  if (pick.open.empty()) return "";
  std::string names;
  for (const std::size_t open : pick.open) {
    const Configuration& other = pick.configurations[open];
    names += fmt::format("{}{} ({:.2f} to {:.2f} times its time)", names.empty() ? "" : ", ",
                         other.backend, other.times_fastest.low, other.times_fastest.high);
  }
  return fmt::format(
      "; {} with fewer dependencies may do as well: measure longer, or on a quieter machine",
      names);
}

std::string over_shapes(const Pick& pick) {
  return pick.shapes.size() == 1 ? "" : fmt::format(" over {} shapes", pick.shapes.size());
}

// Other backends than this one that are not shown to be slower in any shape.
std::string tied_with(const std::string& backend, const Pick& pick) {
  std::string names;
  for (std::size_t i = 0; i < pick.configurations.size(); ++i) {
    const Configuration& other = pick.configurations[i];
    const bool open = pick.sureness != judge::Sureness::unknown &&
                      std::find(pick.open.begin(), pick.open.end(), i) != pick.open.end();
    if (other.backend == backend || other.missing > 0 || open) continue;
    if (other.loss == judge::Loss::large) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", other.backend);
  }
  return names;
}

// Why this one where the lowest median decides nothing.
std::string preference(const Pick& pick) {
  const Configuration& choice = pick.choice();
  std::string text =
      fmt::format("{} has the lowest median{}", to_text(pick.lowest), over_shapes(pick));
  const std::string tied = tied_with(pick.lowest.backend, pick);
  if (!tied.empty()) text += fmt::format("; {} cannot be distinguished from it", tied);
  if (to_text(choice) == to_text(pick.lowest)) return text;
  return text + fmt::format(
                    "; {} is preferred (fewer dependencies, then split before fused before "
                    "wrapper) and takes {:.2f} to {:.2f} times as long",
                    to_text(choice), choice.times_fastest.low, choice.times_fastest.high);
}

}  // namespace

std::string no_answer(const Pick& pick) {
  if (pick.sureness != judge::Sureness::unknown) return "";
  return "no answer yet: measure longer, or on a quieter machine";
}

std::string reason(const Pick& pick) {
  const Configuration& choice = pick.choice();
  const Configuration& fastest = pick.configurations.front();
  const std::string error =
      choice.numbers == Numbers{}
          ? ""
          : fmt::format("; with {} its nrmse is at most {:.2g}",
                        headroom::to_string(choice.numbers), choice.worst_error);
  if (pick.sureness == judge::Sureness::unknown) return preference(pick) + error;
  const char* everywhere = pick.shapes.size() == 1 ? "" : " for any shape";
  if (pick.lighter_won()) {
    return fmt::format(
        "{} takes at most {:.3g} % more time than {}{} and has fewer dependencies: {} "
        "instead of {}{}{}",
        choice.backend, 100 * std::max(0.0, choice.times_fastest.high - 1), fastest.backend,
        everywhere, to_text(pick.costs.at(choice.backend)), to_text(pick.costs.at(fastest.backend)),
        error, open_words(pick));
  }
  const std::string tied =
      choice.loss == judge::Loss::little ? tied_with(choice.backend, pick) : "";
  std::string text =
      fmt::format("{} {}{}", choice.backend,
                  tied.empty() && pick.open.empty() ? "is the fastest" : "has the lowest median",
                  over_shapes(pick));
  if (choice.missing > 0) {
    text += fmt::format(", although it has no time for {} of them", choice.missing);
  }
  if (!tied.empty()) {
    text += fmt::format("; {} cannot be distinguished from it{}, but has no fewer dependencies",
                        tied, everywhere);
  }
  return text + error + open_words(pick);
}

std::vector<std::string> borrowed_lines(const Pick& pick) {
  if (!pick.borrowed) return {};
  const Borrowed& from = *pick.borrowed;
  return {
      fmt::format("borrowed: no results of {} decide this, but those of {} ({}), {}", from.here,
                  from.machine, from.processor,
                  from.named ? "which you named" : "the nearest in the store that has them"),
      fmt::format("how near: {} (distance {:.2f}): {}", from.nearness, from.distance, from.reasons),
      fmt::format("how sure: {}",
                  from.evidence.empty()
                      ? "unknown, because no two machines of the store have these shapes"
                      : from.evidence),
      "what follows is true on that machine; to know it here, measure: headroom pick without "
      "--from"};
}

std::string measured_on(const record::ResultsFolder& folder) {
  const auto& environment = folder.environment;
  return fmt::format("{} ({}), {} cores, {}, {}", text_at(environment, "/processor/name"),
                     text_at(environment, "/processor/architecture"),
                     shown(value_at(environment, "/allowed_cores"), "unknown"),
                     text_at(environment, "/isa"), text_at(environment, "/time"));
}

}  // namespace headroom::pick
