#include "plan/choices.hpp"

#include <fmt/format.h>

#include "core/element/layer_numbers.hpp"
#include "core/nearest.hpp"
#include "headroom/attention.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "plan/cell.hpp"
#include "processor/cores.hpp"
#include "program/numbers.hpp"

namespace headroom::plan {
namespace {

std::vector<BackendChoice> every_backend() {
  std::vector<BackendChoice> all;
  for (const BackendInfo& info : backends()) {
    all.push_back({info.name, info.threaded, info.uses_isa});
  }
  return all;
}

}  // namespace

std::vector<std::string> split_names(std::string_view option, std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    names.emplace_back(text.substr(start, comma - start));
    if (names.back().empty()) {
      throw InvalidArgument(fmt::format(
          "{}: '{}' contains an empty name; give names separated by commas, or all", option, text));
    }
    start = comma + 1;
  }
  return names;
}

std::vector<BackendChoice> parse_backends(const std::optional<std::string>& text) {
  if (!text || *text == "all") return every_backend();
  std::vector<BackendChoice> chosen;
  for (const std::string& name : split_names("--backend", *text)) {
    if (name == "all") return every_backend();
    const BackendInfo info = find_backend(name);
    chosen.push_back({info.name, info.threaded, info.uses_isa});
  }
  return chosen;
}

std::vector<Formulation> parse_formulations(const std::optional<std::string>& text) {
  std::vector<Formulation> all{Formulation::wrapper, Formulation::split, Formulation::fused};
  if (!text) return all;
  std::vector<Formulation> chosen;
  for (const std::string& name : split_names("--formulation", *text)) {
    if (name == "all") return all;
    const std::optional<Formulation> formulation = parse_formulation(name);
    if (!formulation) {
      throw InvalidArgument(fmt::format("--formulation: unknown formulation '{}'; {}", name,
                                        suggest(name, {"wrapper", "split", "fused", "all"})));
    }
    chosen.push_back(*formulation);
  }
  return chosen;
}

std::optional<Isa> parse_forced_isa(const std::optional<std::string>& text) {
  if (!text) {
    select_isa();  // an invalid HEADROOM_ISA must be an error before anything is measured
    return std::nullopt;
  }
  const std::optional<Isa> isa = parse_isa(*text);
  if (!isa) {
    throw InvalidArgument(fmt::format("--isa: unknown instruction set '{}'; {}", *text,
                                      suggest(*text, {"sse4.2", "avx2", "avx512", "neon"})));
  }
  select_isa(isa);
  return isa;
}

std::optional<Unit> parse_forced_unit(const std::optional<std::string>& text,
                                      std::optional<Isa> isa) {
  std::optional<Unit> unit;
  if (text) {
    unit = parse_unit(*text);
    if (!unit) {
      throw InvalidArgument(
          fmt::format("--unit: unknown unit '{}'; {}", *text, suggest(*text, unit_names())));
    }
  }
  select_target(isa, unit);  // also where HEADROOM_UNIT is invalid
  return unit;
}

namespace {

// Names of values, `all` for every one of them, and the first of them where nothing was given.
template <class Value, class Parse>
std::vector<Value> parse_each(std::string_view option, std::string_view what,
                              const std::optional<std::string>& text, const std::vector<Value>& all,
                              Parse parse) {
  if (!text) return {all.front()};
  std::vector<Value> chosen;
  for (const std::string& name : split_names(option, *text)) {
    if (name == "all") return all;
    const std::optional<Value> value = parse(name);
    if (!value) {
      std::vector<std::string> known;
      for (const Value each : all) known.emplace_back(to_string(each));
      known.emplace_back("all");
      throw InvalidArgument(
          fmt::format("{}: unknown {} '{}'; {}", option, what, name, suggest(name, known)));
    }
    chosen.push_back(*value);
  }
  return chosen;
}

}  // namespace

std::vector<Precision> parse_precisions(const std::optional<std::string>& text) {
  return parse_each<Precision>("--precision", "precision", text,
                               {kAllPrecisions.begin(), kAllPrecisions.end()}, parse_precision);
}

std::vector<Dtype> parse_dtypes(const std::optional<std::string>& text) {
  return parse_each<Dtype>("--dtype", "dtype", text, {Dtype::f32, Dtype::bf16}, parse_dtype);
}

std::vector<int> parse_threads(const std::optional<std::string>& text) {
  if (!text) return {allowed_cores()};
  std::vector<int> threads;
  for (const std::int64_t count : parse_numbers("--threads", *text)) {
    if (count > kMaxThreads) {
      throw InvalidArgument(
          fmt::format("--threads: {} is too many; the limit is {}, and this "
                      "process may use {} cores",
                      count, kMaxThreads, allowed_cores()));
    }
    threads.push_back(static_cast<int>(count));
  }
  return threads;
}

std::vector<int> parse_ranks(const std::optional<std::string>& text) {
  if (!text) return {1};
  std::vector<int> ranks;
  for (const std::int64_t count : parse_numbers("--ranks", *text)) {
    if (count > kMaxRanks) {
      throw InvalidArgument(
          fmt::format("--ranks: {} is too many; the limit is {}", count, kMaxRanks));
    }
    ranks.push_back(static_cast<int>(count));
  }
  return ranks;
}

}  // namespace headroom::plan
