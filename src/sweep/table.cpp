#include "sweep/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "sweep/measure.hpp"
#include "sweep/numbers.hpp"
#include "sweep/runner.hpp"

namespace headroom::sweep {
namespace {

using Results = std::vector<const CellResult*>;

std::string speed_up(const CellResult& result, const CellResult* baseline) {
  if (baseline == nullptr) return "-";
  const double factor = baseline->time.median / result.time.median;
  return factor < 10 ? fmt::format("{:.2f}x", factor) : fmt::format("{:.0f}x", factor);
}

const CellResult* find(const Results& rivals, const auto& wanted) {
  const auto found = std::find_if(rivals.begin(), rivals.end(), [&](const CellResult* rival) {
    return rival->status == Status::ok && wanted(*rival);
  });
  return found == rivals.end() ? nullptr : *found;
}

// Half the width of the interval, in per cent of the median.
double uncertainty(const TimeSummary& time) {
  return 50 * (time.ci95.high - time.ci95.low) / time.median;
}

std::string row(const CellResult& result, const Results& rivals) {
  const Cell& cell = result.cell;
  std::string line = fmt::format("  {:<8} {:<8} {:>3}", cell.backend,
                                 headroom::to_string(cell.formulation), result.threads);
  if (result.status != Status::ok) {
    return fmt::format("{}  {}: {}\n", line, to_string(result.status), result.reason);
  }
  const CellResult* naive = find(rivals, [&](const CellResult& other) {
    return other.cell.backend == "naive" && other.cell.formulation == cell.formulation;
  });
  const CellResult* wrapper = find(rivals, [&](const CellResult& other) {
    return other.cell.formulation == Formulation::wrapper && other.cell.backend == cell.backend &&
           other.threads == result.threads;
  });
  const std::string peak =
      result.peak_fraction ? fmt::format("{:.1f}%", 100 * *result.peak_fraction) : "-";
  return fmt::format("{}  {:>9} {:>5.1f}%  {:>8.2f} {:>7}  {:>9} {:>9}   {:.1e} / {:.0e}\n", line,
                     format_seconds(result.time.median), uncertainty(result.time), result.gflops,
                     peak, speed_up(result, naive), speed_up(result, wrapper), result.error->nrmse,
                     reference::kNrmseLimit);
}

std::string shape_table(const Results& rivals) {
  const Shape& shape = rivals.front()->shape;
  std::string text = fmt::format("\n{}  {:.3g} GFLOP, weights {}", shape.id(),
                                 shape.flops().total() * 1e-9, format_bytes(shape.bytes().weights));
  const CellResult* checked = find(rivals, [](const CellResult&) { return true; });
  if (checked != nullptr && checked->checked_rows < shape.rows()) {
    text += fmt::format(", {} of {} rows checked", checked->checked_rows, shape.rows());
  }
  text += fmt::format("\n  {:<8} {:<8} {:>3}  {:>9} {:>6}  {:>8} {:>7}  {:>9} {:>9}   {}\n",
                      "backend", "formul.", "thr", "time", "+-", "GFLOP/s", "of peak", "/ naive",
                      "/ wrapper", "error / limit");
  for (const CellResult* result : rivals) text += row(*result, rivals);
  return text;
}

}  // namespace

std::string results_table(const std::vector<CellResult>& results) {
  std::string text;
  for (std::size_t start = 0; start < results.size();) {
    Results rivals;
    std::size_t end = start;
    for (; end < results.size() && results[end].shape == results[start].shape; ++end) {
      rivals.push_back(&results[end]);
    }
    // Interleaved cells finish in random order; people look for them in the order of the axes.
    std::stable_sort(rivals.begin(), rivals.end(), [](const CellResult* a, const CellResult* b) {
      return a->cell.order < b->cell.order;
    });
    text += shape_table(rivals);
    start = end;
  }
  return text;
}

std::string plan_table(const Plan& plan, const TimingPlan& timing, const Estimator& estimator,
                       std::int64_t memory_limit, bool budgeted) {
  std::string text;
  double total = 0;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) {
      const CellEstimate estimate = blank_result(group, cell, timing, estimator).estimate;
      std::string remark;
      if (!cell.skip_reason.empty() || group.shape.rows() == 0 || estimate.bytes > memory_limit ||
          (!budgeted && estimate.seconds > kCellLimitSeconds)) {
        remark = "  to be skipped";
      } else {
        total += estimate.seconds;
      }
      fmt::format_to(std::back_inserter(text), "{:<48} {:>10} {:>10}{}\n", cell.id,
                     format_bytes(estimate.bytes), format_wait(estimate.seconds), remark);
    }
    total += estimator.group_seconds(group.shape);
  }
  fmt::format_to(std::back_inserter(text), "{} cells of up to {} repetitions, about {}\n",
                 plan.cell_count(), timing.repetitions, format_wait(total));
  return text;
}

}  // namespace headroom::sweep
