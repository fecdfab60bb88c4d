#include "measure/crew/together.hpp"

#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "measure/group/cell_result.hpp"
#include "measure/group/group_measurement.hpp"

namespace headroom::measure {
namespace {

std::optional<Problem> problem_of(const plan::Group& group, const Settings& settings) {
  try {
    return make_problem(group, settings.seed, reference::Data::standard, plan::kCheckFlops);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

}  // namespace

void measure_group_together(const plan::Group& group, const Settings& settings,
                            plan::Estimator& estimator, Observer& observer) {
  const auto finish = [&](const record::CellResult& result) {
    learn(estimator, result);
    observer.finished(result, record::to_json(result));
  };
  Round round;
  for (std::size_t i = 0; i < group.cells.size(); ++i) {
    if (const auto refusal = refusal_by_estimate(group, group.cells[i], settings, estimator)) {
      finish(*refusal);
    } else {
      round.cells.push_back({i});
    }
  }
  if (round.cells.empty()) return;
  observer.started("expected result of " + group.shape.id());
  const std::optional<Problem> problem = problem_of(group, settings);
  if (!problem) {
    for (const Assignment& assigned : round.cells) {
      record::CellResult result =
          blank_result(group, group.cells[assigned.cell], settings.timing, estimator);
      result.status = record::Status::skipped;
      result.reason = "not enough memory for the weights and the expected result";
      finish(result);
    }
    return;
  }
  MeasureEvents inside;
  inside.started = [&](const std::string& what) { observer.started(what); };
  inside.finished = [&](const Part& part) {
    finish(part.result.status == record::Status::ok
               ? join_parts({part.result}, settings.peaks, settings.seed)
               : part.result);
  };
  inside.stopped = [&] { return observer.stopped(); };
  measure_round({group, *problem}, round, settings, estimator, inside);
}

}  // namespace headroom::measure
