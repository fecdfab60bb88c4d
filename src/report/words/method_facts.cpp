#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/backend.hpp"
#include "judge/noise.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "report/words/facts.hpp"
#include "report/words/wording.hpp"
#include "statistics/samples.hpp"

namespace headroom::report {
namespace {

using nlohmann::ordered_json;
using record::CellResult;

// Values come from a file; what a shell would read as more than one word is quoted.
std::string shell_word(const std::string& text) {
  const auto harmless = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-+=.,/:%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), harmless)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string numbers(const std::set<std::size_t>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string samples_text(const record::ResultsFolder& folder) {
  std::size_t least = 0, most = 0;
  for (const CellResult& result : folder.results) {
    const std::size_t count = result.time.samples.size();
    if (count == 0) continue;
    least = least == 0 ? count : std::min(least, count);
    most = std::max(most, count);
  }
  if (most == 0) return "none";
  const ordered_json& min_time = value_at(folder.environment, "/sweep/min_time_s");
  return fmt::format(
      "{} a cell{}, the rivals of a shape in random order",
      least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most),
      min_time.is_number() ? fmt::format(", each of {:g} s at least", min_time.get<double>()) : "");
}

std::string caches_text(const record::ResultsFolder& folder) {
  std::size_t cold = 0;
  for (const CellResult& result : folder.results) {
    cold += result.cache == plan::CacheState::cold ? 1 : 0;
  }
  if (cold == 0) return "warm: passes follow each other, so that small layers stay in the caches";
  if (cold == folder.results.size()) return "cold: emptied before every pass";
  return "mixed: some cells were measured with emptied caches, others with warm ones";
}

// The clocks at which the shares were taken: each cell counts by the median of its samples.
std::string clocks_text(const record::ResultsFolder& folder) {
  std::vector<double> clocks;
  for (const CellResult& result : folder.results) {
    if (!result.control || result.control->clock_ghz.empty()) continue;
    clocks.push_back(statistics::median(result.control->clock_ghz));
  }
  if (clocks.empty()) return "at a clock that was not recorded";
  const auto [least, most] = std::minmax_element(clocks.begin(), clocks.end());
  return fmt::format("at the clock recorded with it ({:.2f} to {:.2f} GHz)", *least, *most);
}

std::string of_peak_text(const record::ResultsFolder& folder) {
  const bool beside = std::any_of(folder.results.begin(), folder.results.end(),
                                  [](const CellResult& result) { return result.control; });
  if (!beside) return "the share of the multiply-add rate measured before the first cell";
  return "the share of the multiply-add rate measured on as many threads right before and after "
         "each sample, " +
         clocks_text(folder);
}

std::string told_apart(const Findings& findings) {
  return fmt::format(
      "faster and slower take both: the whole 95 % bootstrap interval of the ratio of medians "
      "beyond {:.1f} %{}, and p < {} (Mann-Whitney, corrected for all {} by Benjamini-Hochberg). "
      "{} of them compare samples divided by the control beside them.",
      100 * findings.margin,
      findings.noise_floor >= findings.margin ? " (the noise floor)" : " (the least that matters)",
      judge::kSignificance, counted(findings.comparisons, "comparison"), findings.by_control);
}

void add_threads(Table& table, const record::ResultsFolder& folder) {
  std::map<std::string, std::set<std::size_t>> threads;
  std::vector<std::string> names;
  for (const CellResult* result : record::in_order(folder)) {
    if (threads[result->cell.backend].insert(static_cast<std::size_t>(result->threads)).second &&
        threads[result->cell.backend].size() == 1) {
      names.push_back(result->cell.backend);
    }
  }
  Prose prose;
  for (const std::string& name : names) {
    if (!prose.empty()) prose.push_back(plain("; "));
    prose.push_back(code(name));
    prose.push_back(plain(fmt::format(" {}", numbers(threads.at(name)))));
  }
  table.rows.push_back({{plain("threads")}, prose});
}

}  // namespace

Table method_facts(const Findings& findings) {
  const record::ResultsFolder& folder = *findings.folder;
  Table table{{{"what", false}, {"how", false}}, {}};
  const auto add = [&](const char* name, const std::string& value) {
    table.rows.push_back({{plain(name)}, {plain(value)}});
  };
  add_threads(table, folder);
  add("samples", samples_text(folder));
  add("time",
      "one forward pass; the median, with its 95 % bootstrap interval. Packing of weights "
      "is apart, as set-up");
  add("caches", caches_text(folder));
  add("operations",
      "a multiplication and an addition are two; only the products that the mask leaves: "
      "2·B·T·d_in·3·d_out for query, key and value + 2·B·T·(T+1)·d_out for causal attention "
      "(4·B·T²·d_out without a mask) + 2·B·T·d_out·d_proj for the output");
  add("of peak", of_peak_text(folder));
  table.rows.push_back({{plain("baseline")},
                        {plain("speed-ups over "), code(std::string(baseline_backend())),
                         plain(": scalar loops as the definition reads, of the same shape and "
                               "formulation, on one thread")}});
  add("told apart", told_apart(findings));
  add("check",
      "every cell was held against a double-precision reference in the same run before "
      "it was timed");
  const std::string command = repeating_command(folder.environment);
  if (command.empty()) {
    add("repeat it", "not known: the sweep did not record its arguments");
  } else {
    table.rows.push_back({{plain("repeat it")}, {code(command)}});
  }
  return table;
}

std::string repeating_command(const ordered_json& environment) {
  const ordered_json& axes = value_at(environment, "/sweep/identity/axes");
  if (!axes.is_object()) return "";
  std::string command = "headroom sweep";
  for (const auto& [axis, value] : axes.items()) {
    if (value == true) command += fmt::format(" {}", shell_word("--" + axis));
    if (value.is_string()) {
      command +=
          fmt::format(" {} {}", shell_word("--" + axis), shell_word(value.get<std::string>()));
    }
  }
  const auto add = [&](const char* option, const char* place, double usual) {
    const ordered_json& value = value_at(environment, place);
    if (!value.is_number() || value.get<double>() == usual) return;
    command += fmt::format(" {} {:g}", option, value.get<double>());
  };
  // What a sweep does unless it is told otherwise need not be said.
  add("--repetitions", "/sweep/repetitions_asked", 9);
  add("--min-time", "/sweep/min_time_s", 0.05);
  add("--seed", "/sweep/seed", 1);
  add("--budget", "/sweep/budget_s", 0);
  return command;
}

Table noise_facts(const Findings& findings) {
  Table table{{{"what", false}, {"found", false}}, {}};
  const auto& results = findings.folder->results;
  const std::optional<judge::NoiseFloor> measured = judge::noise_floor(results);
  std::string floor = "not measured: no shape had a layer timed twice";
  if (measured) {
    floor = fmt::format("{:.1f} % between one layer and itself, timed twice in {}",
                        100 * measured->floor, counted(measured->count, "shape"));
  } else if (findings.noise_floor > 0) {
    floor = fmt::format("{:.1f} %, as recorded", 100 * findings.noise_floor);
  }
  table.rows.push_back({{plain("A/A noise floor")}, {plain(floor)}});
  for (const judge::ControlDrift& drift : judge::control_drift(results)) {
    table.rows.push_back(
        {{plain(fmt::format("control on {}", counted(drift.threads, "thread")))},
         {plain(fmt::format(
             "{:.1f} GFLOP/s, moved by {:.1f} % from cell to cell, by {:.1f} % within one",
             drift.gflops, 100 * drift.between, 100 * drift.within))}});
  }
  return table;
}

}  // namespace headroom::report
