#include <fmt/format.h>

#include <map>

#include "report/facts.hpp"
#include "report/wording.hpp"
#include "sweep/json_text.hpp"

namespace headroom::report {
namespace {

using nlohmann::ordered_json;
using sweep::CellResult;
using sweep::value_at;

// Rates that are this far apart are of a machine that did not keep its pace.
constexpr double kLargeDrift = 0.25;

void add_missing(const sweep::ResultsFolder& folder, std::vector<Prose>& remarks) {
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
        {plain(fmt::format("{} cells stand here where one sweep planned {}: lines "
                           "of another run were added, perhaps of another machine.",
                           found, cells))});
  }
}

void add_drift(const sweep::ResultsFolder& folder, std::vector<Prose>& remarks) {
  for (const sweep::ControlDrift& drift : sweep::control_drift(folder.results)) {
    if (drift.between < kLargeDrift) continue;
    remarks.push_back({plain(fmt::format(
        "The machine did not keep its pace: the control on {} moved by {:.0f} % "
        "from cell to cell. Rivals of one shape were measured together and "
        "still compare; times of different shapes hardly do.",
        counted(static_cast<std::size_t>(drift.threads), "thread"), 100 * drift.between))});
  }
}

void add_cell_warnings(const sweep::ResultsFolder& folder, std::vector<Prose>& remarks) {
  std::map<std::string, std::size_t> counts;
  for (const CellResult& result : folder.results) {
    for (const std::string& warning : result.cell.warnings) ++counts[warning];
  }
  for (const auto& [warning, count] : counts) {
    remarks.push_back({plain(fmt::format("{}: {}.", counted(count, "cell"), warning))});
  }
}

}  // namespace

std::vector<Prose> remarks(const sweep::ResultsFolder& folder) {
  std::vector<Prose> all;
  for (const std::string& note : folder.notes) all.push_back({plain(note + ".")});
  add_missing(folder, all);
  add_drift(folder, all);
  const ordered_json& warnings = value_at(folder.environment, "/warnings");
  if (warnings.is_array()) {
    for (const ordered_json& warning : warnings) {
      if (warning.is_string()) all.push_back({plain(warning.get<std::string>() + ".")});
    }
  }
  add_cell_warnings(folder, all);
  return all;
}

Table cells_without_time(const sweep::ResultsFolder& folder) {
  Table table{{{"status", false}, {"cell", false}, {"reason", false}}, {}};
  for (const CellResult* result : sweep::in_order(folder)) {
    if (result->status == sweep::Status::ok) continue;
    table.rows.push_back({{strong(std::string(sweep::to_string(result->status)))},
                          {code(result->cell.id)},
                          {plain(result->reason)}});
  }
  return table;
}

}  // namespace headroom::report
