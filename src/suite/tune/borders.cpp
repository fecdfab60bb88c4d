#include "tune/borders.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "backends/backend.hpp"
#include "judge/verdict.hpp"
#include "plan/cell.hpp"
#include "tune/rivals.hpp"

namespace headroom::tune {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int32_t>::max();

// The precisions whose parts a unit multiplies here, each with its own border.
std::vector<Border> own_borders(const TuneSettings& settings, const std::string& backend) {
  std::vector<Border> borders;
  const Target target = select_target(settings.isa, std::nullopt);
  for (const Precision precision : kAllPrecisions) {
    const Arithmetic does = arithmetic_of(backend, {precision, Dtype::f32}, target);
    if (does.precision != precision || does.unit == Unit::none) continue;
    const KernelChoice own =
        backend_entry(backend).make({1, target, "", precision, Dtype::f32})->kernels();
    borders.push_back({precision, does.unit, own.few_rows, own.few_rows, {}});
  }
  return borders;
}

Case shape_of(std::int64_t rows) {
  Case shape;
  shape.tokens = rows;
  shape.d_in = shape.d_out = shape.d_proj = 768;
  shape.heads = 12;
  return shape;
}

// Vectors first, then the unit.
plan::Group group_of(const TuneSettings& settings, const Tuned& tuned, Precision precision,
                     std::int64_t rows) {
  plan::Group group;
  group.shape = shape_of(rows);
  for (const std::int64_t few_rows : {kNever, std::int64_t{0}}) {
    plan::Cell cell;
    cell.formulation = Formulation::fused;
    cell.backend = tuned.backend;
    cell.threads = tuned.threads;
    cell.isa = settings.isa;
    cell.kernels = tuned.chosen;
    cell.numbers.precision = precision;
    cell.few_rows = few_rows;
    cell.order = group.cells.size();
    cell.id = plan::cell_id(group.shape, cell);
    group.cells.push_back(std::move(cell));
  }
  return group;
}

}  // namespace

std::int64_t choose_border(std::int64_t own, const std::vector<RowTimes>& rows) {
  std::int64_t last_slower = 0;
  for (const RowTimes& times : rows) {
    if (times.by_unit.verdict == judge::Verdict::slower) last_slower = times.rows;
  }
  const auto faster = std::find_if(rows.begin(), rows.end(), [&](const RowTimes& times) {
    return times.rows > last_slower && times.by_unit.verdict == judge::Verdict::faster;
  });
  const std::int64_t most = faster == rows.end() ? kNever : faster->rows - 1;
  return std::clamp(own, last_slower, most);
}

bool tune_borders(const TuneSettings& settings, measure::Observer& observer,
                  std::vector<Tuned>& all) {
  plan::Plan plan;
  for (Tuned& tuned : all) {
    tuned.borders = own_borders(settings, tuned.backend);
    for (const Border& border : tuned.borders) {
      for (const std::int64_t rows : settings.rows) {
        plan.groups.push_back(group_of(settings, tuned, border.precision, rows));
      }
    }
  }
  if (plan.groups.empty()) return true;
  const auto differences = compare_with_first(plan, settings.measure, observer);
  if (!differences) return false;
  auto difference = differences->begin();
  for (Tuned& tuned : all) {
    for (Border& border : tuned.borders) {
      for (const std::int64_t rows : settings.rows) border.rows.push_back({rows, *difference++});
      border.chosen = choose_border(border.own_choice, border.rows);
    }
  }
  return true;
}

}  // namespace headroom::tune
