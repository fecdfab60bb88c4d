#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text/shown.hpp"
#include "judge/credible_roofs.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "record/peaks.hpp"
#include "report/words/facts.hpp"
#include "report/words/wording.hpp"
#include "show/machine_words.hpp"

namespace headroom::report {
namespace {

using nlohmann::ordered_json;

std::string said(const ordered_json& value, const char* otherwise = "not known") {
  return in_words(value, otherwise);
}

std::string bytes(const ordered_json& value) {
  return value.is_number_integer() ? format_bytes(value.get<std::int64_t>()) : said(value);
}

std::string caches(const ordered_json& environment) {
  const ordered_json& list = value_at(environment, "/processor/caches");
  if (!list.is_array() || list.empty()) return "not known";
  std::vector<std::string> parts;
  for (const ordered_json& cache : list) {
    parts.push_back(fmt::format("{} {} × {}", said(value_at(cache, "/name")),
                                said(value_at(cache, "/count")), bytes(value_at(cache, "/bytes"))));
  }
  if (const std::string total = show::last_level_words(environment); !total.empty()) {
    parts.push_back(total);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string peaks(const record::ResultsFolder& folder) {
  const record::Peaks peaks = judge::roofs_of(folder);
  if (peaks.fma_gflops.empty()) return "not measured";
  std::vector<std::string> parts;
  for (const auto& entry : peaks.fma_gflops) {
    const int threads = entry.first;
    std::string part = fmt::format("{}: multiply-adds {}", counted(threads, "thread"),
                                   show::fma_peak_words(peaks, threads));
    for (const std::string& line : show::product_peak_lines(peaks, threads)) {
      part += ", products from the L1 " + line;
    }
    const auto read = peaks.read_gbs.find(threads);
    if (read != peaks.read_gbs.end()) {
      part += fmt::format(", memory read {:.1f} GB/s", read->second);
    }
    parts.push_back(part);
  }
  if (peaks.idle_watts) parts.push_back(fmt::format("idle {:.1f} W", *peaks.idle_watts));
  return fmt::format("{}", fmt::join(parts, "; "));
}

void add(Table& table, const char* name, const std::string& value) {
  table.rows.push_back({{plain(name)}, {plain(value)}});
}

}  // namespace

Table machine_facts(const record::ResultsFolder& folder) {
  const ordered_json& environment = folder.environment;
  const auto at = [&](const char* place) { return said(value_at(environment, place)); };
  Table table{{{"what", false}, {"found", false}}, {}};
  add(table, "processor",
      fmt::format("{} ({})", at("/processor/name"), at("/processor/architecture")));
  add(table, "cores",
      fmt::format("{} allowed of {}, {} hardware threads, {} NUMA node(s)", at("/allowed_cores"),
                  at("/processor/cores"), at("/processor/hardware_threads"),
                  at("/processor/numa_nodes")));
  add(table, "caches", caches(environment));
  add(table, "memory",
      fmt::format("{} usable, limited by {}", bytes(value_at(environment, "/memory/bytes")),
                  at("/memory/limited_by")));
  add(table, "instruction set",
      fmt::format("{} (available: {})", at("/isa"), at("/available_isas")));
  add(table, "unit for parts",
      fmt::format("{} (available: {})", at("/unit"), at("/available_units")));
  add(table, "measured peaks", peaks(folder));
  add(table, "clock before the first cell", show::clock_words(environment));
  add(table, "conditions", fmt::format("{}", fmt::join(show::condition_lines(environment), "; ")));
  add(table, "build",
      fmt::format("headroom {}, revision {}, {}, {} ({})", at("/headroom"),
                  at("/build/git_revision"), at("/build/compiler"), at("/build/build_type"),
                  at("/build/flags")));
  add(table, "measured", at("/time"));
  return table;
}

Table backend_rows(const record::ResultsFolder& folder) {
  Table table{{{"backend", false}, {"what it is", false}, {"library", false}}, {}};
  const ordered_json& backends = value_at(folder.environment, "/backends");
  if (!backends.is_array()) return table;
  for (const ordered_json& backend : backends) {
    const ordered_json& reason = value_at(backend, "/reason");
    const std::string library = said(value_at(backend, "/library"), "");
    table.rows.push_back({{code(said(value_at(backend, "/name")))},
                          {plain(reason.is_string() ? "not available: " + said(reason)
                                                    : said(value_at(backend, "/description"), ""))},
                          {plain(library.empty() ? "none" : library)}});
  }
  return table;
}

void check_one_machine(const record::ResultsFolder& folder) {
  const ordered_json& isa = value_at(folder.environment, "/isa");
  if (!isa.is_string()) return;
  for (const record::CellResult& result : folder.results) {
    if (!result.control || result.control->isa == isa) continue;
    throw FileError(
        fmt::format("{}: {} was measured beside a control of {}, but environment.json describes a "
                    "machine or run "
                    "with {}; keep the results of each machine in a separate folder",
                    shown_path(folder.path / "results.jsonl"), result.cell.id, result.control->isa,
                    isa.get<std::string>()));
  }
}

}  // namespace headroom::report
