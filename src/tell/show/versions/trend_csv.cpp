#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <string>

#include "show/csv_field.hpp"
#include "show/versions/gap_groups.hpp"
#include "show/versions/trend_table.hpp"

namespace headroom::show {
namespace {

using trend::Gap;
using trend::MachineTrend;
using trend::Point;
using trend::Series;
using trend::Step;

constexpr std::array kHead{"machine",   "version",    "committed",   "measured", "id",
                           "status",    "reason",     "level_s",     "change",   "ratio",
                           "ratio_low", "ratio_high", "corrected_p", "peer",     "linkable"};

// What a version says of a cell. A version that both failed and has a time says both.
struct VersionRow {
  const Point* point = nullptr;
  const Gap* gap = nullptr;
  const Step* step = nullptr;
  bool maybe = false;
};

std::map<std::size_t, VersionRow> rows_of(const Series& series) {
  std::map<std::size_t, VersionRow> rows;
  for (const Point& point : series.points) rows[point.version].point = &point;
  for (const Gap& gap : series.gaps) rows[gap.version].gap = &gap;
  for (const Step& step : series.steps) rows[step.after].step = &step;
  if (series.maybe) {
    rows[series.maybe->after].step = &*series.maybe;
    rows[series.maybe->after].maybe = true;
  }
  return rows;
}

std::string exact(double value) { return fmt::format("{}", value); }

std::string csv_row(const MachineTrend& machine, const Series& series, std::size_t version,
                    const VersionRow& row) {
  const trend::Version& of = machine.versions[version];
  std::array<std::string, kHead.size()> fields{
      machine.machine,
      of.name,
      of.committed,
      of.measured,
      series.id,
      row.gap != nullptr ? std::string(gap_word(*row.gap)) : "ok",
      row.gap != nullptr ? row.gap->reason : "",
      row.point != nullptr ? exact(row.point->seconds) : ""};
  if (row.step != nullptr) {
    fields[8] =
        fmt::format("{}{}", row.maybe ? "maybe " : "", row.step->slower() ? "slower" : "faster");
    fields[9] = exact(row.step->ratio);
    fields[10] = exact(row.step->ci95.low);
    fields[11] = exact(row.step->ci95.high);
    fields[12] = exact(row.step->corrected_p);
  }
  fields[13] = series.peer ? "true" : "false";
  fields[14] = series.linkable ? "true" : "false";
  for (std::string& field : fields) field = csv_field(field);
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

std::string trend_csv(const trend::Trend& trend) {
  std::string text = fmt::format("{}\n", fmt::join(kHead, ","));
  for (const MachineTrend& machine : trend.machines) {
    for (const Series& series : machine.series) {
      for (const auto& [version, row] : rows_of(series)) {
        text += csv_row(machine, series, version, row);
      }
    }
  }
  return text;
}

}  // namespace headroom::show
