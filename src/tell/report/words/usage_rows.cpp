#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "program/numbers.hpp"
#include "report/words/facts.hpp"
#include "report/words/wording.hpp"
#include "show/usage_columns.hpp"

namespace headroom::report {
namespace {

using record::CellResult;
using record::Used;

constexpr const char* kNone = "-";

std::string amount(const std::optional<double>& value, const char* unit = "") {
  return value ? show::format_amount(*value, unit) : kNone;
}

std::string throttled(const Used& used) {
  const std::optional<std::int64_t> samples = used.throttled_samples();
  if (!samples) return kNone;
  return *samples == 0 ? "never" : fmt::format("in {}", counted(*samples, "sample"));
}

std::vector<Prose> row_of(const ShapeFindings& shape, const CellResult& cell) {
  const Used& used = *cell.used;
  return {{plain(name_of(shape))},
          {code(name_of(cell))},
          {plain(amount(used.joules(), "J"))},
          {plain(used.idle_share ? format_share(*used.idle_share) : kNone)},
          {plain(amount(used.instructions()))},
          {plain(used.per_cycle() ? fmt::format("{:.2f}", *used.per_cycle()) : kNone)},
          {plain(amount(used.cache_misses()))},
          {plain(throttled(used))}};
}

}  // namespace

Table usage_rows(const Findings& findings) {
  Table table{{{"shape", false},
               {"fastest", false},
               {"energy of a pass", true},
               {"of it idle", true},
               {"instructions", true},
               {"per cycle", true},
               {"cache misses", true},
               {"throttled", false}},
              {}};
  for (const ShapeFindings& shape : findings.shapes) {
    const Contest* winner = shape.winner();
    if (winner != nullptr && winner->cell->used) {
      table.rows.push_back(row_of(shape, *winner->cell));
    }
  }
  return table;
}

}  // namespace headroom::report
