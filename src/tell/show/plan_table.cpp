#include "show/plan_table.hpp"

#include <fmt/format.h>

#include <iterator>

#include "program/numbers.hpp"

namespace headroom::show {

std::string plan_table(const plan::Plan& plan, const plan::TimingPlan& timing,
                       const plan::Estimator& estimator, const plan::Limits& limits,
                       double seconds) {
  std::string text;
  for (const plan::Group& group : plan.groups) {
    for (const plan::Cell& cell : group.cells) {
      const plan::CellEstimate estimate = estimator.estimate(group.shape, cell, timing);
      const bool skipped = !plan::reason_to_skip(group.shape, cell, estimate, limits).empty();
      fmt::format_to(std::back_inserter(text), "{:<48} {:>10} {:>10}{}\n", cell.id,
                     format_bytes(estimate.bytes), format_wait(estimate.seconds),
                     skipped ? "  will be skipped" : "");
    }
  }
  fmt::format_to(std::back_inserter(text), "{} cells with up to {} repetitions, about {}\n",
                 plan.cell_count(), timing.repetitions, format_wait(seconds));
  return text;
}

}  // namespace headroom::show
