#include "lesson/formulation_times.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "backends/backend.hpp"
#include "headroom/backend.hpp"
#include "headroom/unit.hpp"
#include "judge/noise.hpp"
#include "judge/ranking.hpp"
#include "measure/runner.hpp"
#include "plan/cell.hpp"

namespace headroom::lesson {
namespace {

plan::Group group_of(const Case& shape) {
  plan::Group group;
  group.shape = shape;
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    for (const Formulation formulation : {Formulation::wrapper, Formulation::split}) {
      plan::Cell cell;
      cell.formulation = formulation;
      cell.backend = info.name;
      cell.order = group.cells.size();
      cell.id = plan::cell_id(shape, cell);
      group.cells.push_back(std::move(cell));
    }
  }
  return group;
}

// Nothing if it was not measured, as when a backend declines the shape.
const record::CellResult* timed(const std::vector<record::CellResult>& results,
                                const plan::Cell& cell) {
  for (const record::CellResult& result : results) {
    if (result.cell.id != cell.id) continue;
    if (record::is_broken(result.status)) {
      throw std::runtime_error(
          fmt::format("explain: {}: {}; nothing is shown", cell.id, result.reason));
    }
    return result.has_time() ? &result : nullptr;
  }
  return nullptr;
}

}  // namespace

std::vector<Case> timed_shapes() {
  std::vector<Case> shapes;
  for (const std::int64_t heads : {1, 12, 96}) {
    Case& shape = shapes.emplace_back();
    shape.tokens = 16;
    shape.d_in = shape.d_out = shape.d_proj = 768;
    shape.heads = heads;
  }
  return shapes;
}

std::vector<ShapeTimes> time_formulations(machine::LimitKernelsOf limits_of,
                                          measure::Observer& observer) {
  plan::Plan plan;
  plan.target = select_target();
  for (const Case& shape : timed_shapes()) plan.groups.push_back(group_of(shape));
  const std::vector<record::CellResult> results =
      measure::run_plan(plan, measure::settings_for(plan.target, limits_of), observer);
  if (results.size() < plan.cell_count()) return {};

  std::vector<ShapeTimes> all;
  const auto noise = judge::noise_floor(results);
  judge::Comparisons comparisons(noise ? noise->floor : 0);
  for (const plan::Group& group : plan.groups) {
    const std::vector<plan::Cell>& cells = group.cells;
    std::vector<FormulationTimes>& rows = all.emplace_back(ShapeTimes{group.shape, {}}).backends;
    rows.reserve(cells.size() / 2);  // answers refer to its elements
    for (std::size_t cell = 0; cell < cells.size(); cell += 2) {
      const record::CellResult* wrapper = timed(results, cells[cell]);
      const record::CellResult* split = timed(results, cells[cell + 1]);
      if (wrapper == nullptr || split == nullptr) continue;
      FormulationTimes& times = rows.emplace_back();
      times.backend = cells[cell].backend;
      times.together = backend_facts(times.backend).packs_heads_together;
      times.wrapper = wrapper->time.median;
      times.split = split->time.median;
      comparisons.add(wrapper, *split, [&times](const judge::CellDifference& found) {
        times.difference = found.difference;
      });
    }
  }
  comparisons.run();
  return all;
}

}  // namespace headroom::lesson
