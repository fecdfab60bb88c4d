#include "show/export.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/nearest.hpp"
#include "headroom/error.hpp"
#include "program/json_text.hpp"

namespace headroom::show {

using nlohmann::ordered_json;

ExportFormat parse_export_format(std::string_view option, std::string_view name) {
  if (name == "gbench") return ExportFormat::gbench;
  if (name == "csv") return ExportFormat::csv;
  if (name == "bmf") return ExportFormat::bmf;
  throw InvalidArgument(fmt::format("{}: unknown format '{}'; {}", option, name,
                                    suggest(name, {"gbench", "csv", "bmf"})));
}

std::string export_results(const record::ResultsFolder& folder, ExportFormat format) {
  switch (format) {
    case ExportFormat::gbench:
      return export_google_benchmark(folder);
    case ExportFormat::csv:
      return export_csv(folder);
    case ExportFormat::bmf:
      return export_bencher(folder);
  }
  return "";
}

std::string export_bencher(const record::ResultsFolder& folder) {
  ordered_json all = ordered_json::object();
  for (const record::CellResult* result : record::in_order(folder)) {
    if (result->status != record::Status::ok) continue;
    const record::TimeSummary& time = result->time;
    const double operations = result->shape.flops().total();
    all[result->cell.id] = {{"latency",
                             {{"value", 1e9 * time.median},
                              {"lower_value", 1e9 * time.ci95.low},
                              {"upper_value", 1e9 * time.ci95.high}}},
                            {"throughput",
                             {{"value", operations / time.median},
                              {"lower_value", operations / time.ci95.high},
                              {"upper_value", operations / time.ci95.low}}}};
  }
  return to_text(all, 2) + "\n";
}

std::size_t cells_without_time(const record::ResultsFolder& folder) {
  return static_cast<std::size_t>(std::count_if(
      folder.results.begin(), folder.results.end(),
      [](const record::CellResult& result) { return result.status != record::Status::ok; }));
}

}  // namespace headroom::show
