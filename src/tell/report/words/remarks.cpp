#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "judge/cautions.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "report/words/facts.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using nlohmann::ordered_json;
using record::CellResult;

void add_missing(const record::ResultsFolder& folder, std::vector<Prose>& remarks) {
  const ordered_json& planned = value_at(folder.environment, "/sweep/cells");
  if (!planned.is_number_unsigned()) return;
  const auto cells = planned.get<std::size_t>();
  const std::size_t found = folder.results.size();
  if (found < cells) {
    remarks.push_back(
        {plain(fmt::format("{} of {} planned cells are missing: the sweep was not "
                           "finished, or a line was lost.",
                           cells - found, cells))});
  }
  if (found > cells) {
    remarks.push_back(
        {plain(fmt::format("there are {} cells, but the sweep planned {}: lines of "
                           "another run were added, perhaps from another machine.",
                           found, cells))});
  }
}

// From a run, and from the runs that continued it or were merged into it.
void collect_warnings(const ordered_json& run, std::vector<std::string>& all) {
  const ordered_json& warnings = value_at(run, "/warnings");
  if (warnings.is_array()) {
    for (const ordered_json& warning : warnings) {
      if (warning.is_string()) all.push_back(warning.get<std::string>());
    }
  }
  for (const char* others : {"/resumed", "/merged_from"}) {
    const ordered_json& runs = value_at(run, others);
    if (!runs.is_array()) continue;
    for (const ordered_json& other : runs) collect_warnings(other, all);
  }
}

// A sweep that was cut short could not record its own warnings, so they are derived again.
void add_run_warnings(const record::ResultsFolder& folder, std::vector<Prose>& remarks) {
  std::vector<std::string> all;
  collect_warnings(folder.environment, all);
  for (std::string& caution :
       judge::cautions_after(folder.results, 0, record::peaks_of(folder.environment))) {
    all.push_back(std::move(caution));
  }
  std::set<std::string> said;
  for (const std::string& warning : all) {
    if (said.insert(warning).second) remarks.push_back({plain(warning + ".")});
  }
}

void add_cell_warnings(const record::ResultsFolder& folder, std::vector<Prose>& remarks) {
  std::map<std::string, std::size_t> counts;
  for (const CellResult& result : folder.results) {
    for (const std::string& warning : result.cell.warnings) ++counts[warning];
  }
  for (const auto& [warning, count] : counts) {
    remarks.push_back({plain(fmt::format("{}: {}.", counted(count, "cell"), warning))});
  }
}

}  // namespace

std::vector<Prose> remarks(const record::ResultsFolder& folder) {
  std::vector<Prose> all;
  for (const std::string& note : folder.notes) all.push_back({plain(note + ".")});
  add_missing(folder, all);
  add_run_warnings(folder, all);
  add_cell_warnings(folder, all);
  return all;
}

// One row for all cells with one reason.
Table table_without_times(const record::ResultsFolder& folder) {
  Table table{{{"status", false}, {"cells", false}, {"reason", false}}, {}};
  for (const auto& cells : record::without_time_by_reason(record::in_order(folder))) {
    const CellResult& first = *cells.front();
    Prose ids;
    for (const CellResult* cell : cells) {
      if (!ids.empty()) ids.push_back(plain(", "));
      ids.push_back(code(cell->cell.id));
    }
    table.rows.push_back(
        {{strong(std::string(to_string(first.status)))}, ids, {plain(first.reason)}});
  }
  return table;
}

}  // namespace headroom::report
