#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/backend.hpp"
#include "judge/credible_roofs.hpp"
#include "judge/noise.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "report/words/facts.hpp"
#include "report/words/rank_words.hpp"
#include "report/words/wording.hpp"
#include "show/usage_columns.hpp"
#include "statistics/samples.hpp"

namespace headroom::report {
namespace {

using nlohmann::ordered_json;
using record::CellResult;

// Values come from a file; what a shell would split or expand is quoted.
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

std::string range_text(const std::set<std::size_t>& counts) {
  if (counts.size() == 1) return fmt::format("{}", *counts.begin());
  return fmt::format("{} to {}", *counts.begin(), *counts.rbegin());
}

std::string samples_text(const record::ResultsFolder& folder) {
  std::set<std::size_t> samples, processes;
  for (const CellResult& result : folder.results) {
    if (!result.has_time()) continue;
    samples.insert(result.time.samples.size());
    const std::set<int> own(result.time.processes.begin(), result.time.processes.end());
    processes.insert(std::max<std::size_t>(1, own.size()));
  }
  if (samples.empty()) return "none";
  const ordered_json& min_time = value_at(folder.environment, "/sweep/min_time_s");
  return fmt::format("{} per cell, from {}{}; in each the rivals of a shape run in random order",
                     range_text(samples),
                     *processes.rbegin() == 1 ? "1 process" : range_text(processes) + " processes",
                     min_time.is_number()
                         ? fmt::format(", each at least {:g} s long", min_time.get<double>())
                         : "");
}

std::string caches_text(const record::ResultsFolder& folder) {
  std::size_t cold = 0;
  for (const CellResult& result : folder.results) {
    cold += result.cache == plan::CacheState::cold ? 1 : 0;
  }
  if (cold == 0) return "warm: passes run back to back, so small layers stay in the caches";
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
  return "the share of the rate of multiply-adds in registers, measured on as many threads right "
         "before and after each sample, " +
         clocks_text(folder);
}

std::string of_tiles_text(const record::ResultsFolder& folder) {
  const bool known = std::any_of(folder.results.begin(), folder.results.end(),
                                 [](const CellResult& result) { return result.tile_fraction; });
  if (!known) return "not known: register tiles were not measured beside these cells";
  return "the share of the rate of register tiles with their operands in the L1, measured beside "
         "each sample likewise; no product can pass it";
}

// What `judge::credible_roofs` did.
std::string roofs_text(const Findings& findings) {
  std::string text =
      "measured before the first cell, and raised to what the control beside the cells reached, as "
      "far as other cells confirm it";
  const record::Peaks measured = record::peaks_of(findings.folder->environment);
  for (const std::string& raised : judge::raised_words(measured, findings.roofs)) {
    text += "; " + raised;
  }
  return text;
}

// Only a sample of the rows of large shapes is checked.
std::string sampled_text(const record::ResultsFolder& folder) {
  std::map<std::string, const CellResult*> sampled;
  std::set<std::string> shapes;
  for (const CellResult& result : folder.results) {
    if (!result.error) continue;
    shapes.insert(result.shape.id());
    if (!rows_checked(result).empty()) sampled.try_emplace(result.shape.id(), &result);
  }
  if (sampled.empty()) return "";
  const auto share = [](const auto& entry) {
    return static_cast<double>(entry.second->checked_rows) /
           static_cast<double>(entry.second->shape.rows());
  };
  const auto least =
      std::min_element(sampled.begin(), sampled.end(),
                       [&](const auto& a, const auto& b) { return share(a) < share(b); });
  return fmt::format(
      "; for {} of {} only a sample of the rows was checked (tile edges and random rows), at least "
      "{}",
      sampled.size(), counted(shapes.size(), "shape"), rows_checked(*least->second));
}

std::string distinguished(const Findings& findings) {
  return fmt::format(
      "faster or slower requires all of these: the ratio of medians is beyond {:.1f} %{}; its 95 % "
      "bootstrap confidence interval, drawn by processes first and samples second, does not reach "
      "1; p < {} (Welch's test of the processes' medians, corrected over all {} by "
      "Benjamini-Hochberg). Samples of one process alone are never called different. In {} of them "
      "each sample is divided by the control beside it.",
      100 * findings.margin,
      findings.noise_floor >= findings.margin ? " (the noise floor)"
                                              : " (the smallest difference that matters)",
      judge::kSignificance, counted(findings.comparisons, "comparison"), findings.by_control);
}

// Variables of OpenMP and the like, as they were recorded; not the one that headroom sets itself.
std::string variables_text(const ordered_json& environment) {
  const ordered_json& variables = value_at(environment, "/conditions/variables");
  if (!variables.is_object()) return "";
  const bool ours =
      text_at(environment, "/conditions/openmp_wait_policy", "").ends_with("(set by headroom)");
  std::string text;
  for (const auto& [name, value] : variables.items()) {
    if (!value.is_string() || (ours && name == "OMP_WAIT_POLICY")) continue;
    text += fmt::format("{}={} ", name, shell_word(value.get<std::string>()));
  }
  return text.empty() ? "" : "env " + text;
}

// The level or the unit, where it was not the best: an option or a variable forced it.
std::string lesser(const ordered_json& environment, const char* in_use, const char* available) {
  const ordered_json& all = value_at(environment, available);
  const std::string name = text_at(environment, in_use, "");
  return all.is_array() && !all.empty() && all.back() != name ? name : "";
}

// In digits alone, as the command line takes them: no exponent, and all that a seed has.
std::string option_text(const char* option, const ordered_json& value) {
  std::string text;
  if (value.is_string()) text = shell_word(value.get<std::string>());
  if (value.is_number_integer()) text = value.dump();
  if (value.is_number_float()) {
    text = fmt::format("{:.9f}", value.get<double>());
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text.empty() ? "" : fmt::format(" {} {}", option, text);
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
  if (const std::string ranks = ranks_text(folder); !ranks.empty()) add("ranks", ranks);
  add("samples", samples_text(folder));
  add("time",
      "one forward pass; the median, with its 95 % bootstrap confidence interval. Packing the "
      "weights is reported separately, as set-up");
  add("caches", caches_text(folder));
  add("operations",
      "a multiplication and an addition count as two; masked products do not count: "
      "2·B·T·d_in·3·d_out for query, key and value + 2·B·T·(T+1)·d_out for causal attention "
      "(4·B·T²·d_out without a mask) + 2·B·T·d_out·d_proj for the output");
  add("of peak, of multiply-adds", of_peak_text(folder));
  add("of tiles", of_tiles_text(folder));
  add("roofs", roofs_text(findings));
  if (const std::string note = show::usage_note(folder.results); !note.empty()) {
    add("energy and counters", note);
  }
  table.rows.push_back({{plain("baseline")},
                        {plain("speed-ups over "), code(std::string(baseline_backend())),
                         plain(": scalar loops that follow the definition, for the same shape and "
                               "formulation, on one thread")}});
  add("distinguished", distinguished(findings));
  add("check",
      "every cell was checked against a double-precision reference in the same run, before it "
      "was timed" +
          sampled_text(folder));
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
  std::string command = variables_text(environment) + launcher_text(axes) + "headroom sweep";
  for (const auto& [axis, value] : axes.items()) {
    if (value == true) command += fmt::format(" {}", shell_word("--" + axis));
    if (value.is_string()) {
      command +=
          fmt::format(" {} {}", shell_word("--" + axis), shell_word(value.get<std::string>()));
    }
  }
  const std::string isa = lesser(environment, "/isa", "/available_isas");
  if (!isa.empty() && !axes.contains("isa")) command += " --isa " + shell_word(isa);
  const std::string unit = lesser(environment, "/unit", "/available_units");
  if (!unit.empty() && !axes.contains("unit")) command += " --unit " + shell_word(unit);
  // Defaults of a sweep are left out.
  const auto add = [&](const char* option, const char* place, const ordered_json& usual) {
    const ordered_json& value = value_at(environment, place);
    if (value != usual) command += option_text(option, value);
  };
  const auto add_duration = [&](const char* option, const char* place) {
    const std::string text = option_text(option, value_at(environment, place));
    if (!text.empty()) command += text + "s";
  };
  add("--cache", "/sweep/cache", "warm");
  add("--repetitions", "/sweep/repetitions_asked", 16);
  add("--processes", "/sweep/processes", 8);
  add("--min-time", "/sweep/min_time_s", 0.03);
  add("--seed", "/sweep/seed", 1);
  add_duration("--budget", "/sweep/budget_s");
  add_duration("--timeout", "/sweep/timeout_s");
  add("--max-memory", "/sweep/memory_asked_bytes", nullptr);
  const ordered_json& shard = value_at(environment, "/sweep/identity/shard");
  const ordered_json& index = value_at(shard, "/index");
  const ordered_json& count = value_at(shard, "/of");
  if (index.is_number_integer() && count.is_number_integer()) {
    command += fmt::format(" --shard {}/{}", index.dump(), count.dump());
  }
  return command;
}

Table noise_facts(const Findings& findings) {
  Table table{{{"what", false}, {"found", false}}, {}};
  const auto& results = findings.folder->results;
  const std::optional<judge::NoiseFloor> measured = judge::noise_floor(results);
  std::string floor = "not measured: no shape had a layer timed twice";
  if (measured) {
    floor = fmt::format("{:.1f} % between two timings of the same layer, in {}",
                        100 * measured->floor, counted(measured->count, "shape"));
  } else if (findings.noise_floor > 0) {
    floor = fmt::format("{:.1f} %, as recorded", 100 * findings.noise_floor);
  }
  table.rows.push_back({{plain("A/A noise floor")}, {plain(floor)}});
  for (const judge::ControlDrift& drift : judge::control_drift(results)) {
    table.rows.push_back(
        {{plain(fmt::format("control on {}", judge::control_words(drift)))},
         {plain(fmt::format(
             "{:.1f} GFLOP/s, varied by {:.1f} % between cells and by {:.1f} % within a cell",
             drift.gflops, 100 * drift.between, 100 * drift.within))}});
  }
  return table;
}

}  // namespace headroom::report
