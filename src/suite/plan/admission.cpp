#include "plan/admission.hpp"

#include <fmt/format.h>

#include "program/numbers.hpp"

namespace headroom::plan {

std::string reason_to_skip(const Case& shape, const Cell& cell, const CellEstimate& estimate,
                           const Limits& limits) {
  if (!cell.skip_reason.empty()) return cell.skip_reason;
  if (shape.rows() == 0) return "no sequence has a token: nothing to compute";
  if (estimate.bytes > limits.memory_bytes) {
    return fmt::format("needs about {}, but only {} may be used{}{}", format_bytes(estimate.bytes),
                       format_bytes(limits.memory_bytes), limits.more_memory.empty() ? "" : "; ",
                       limits.more_memory);
  }
  if (limits.cell_seconds && estimate.seconds > *limits.cell_seconds) {
    return fmt::format("would take about {}, but a cell may take {}; --budget lifts this limit",
                       format_wait(estimate.seconds), format_wait(*limits.cell_seconds));
  }
  if (limits.budget_seconds && estimate.seconds > *limits.budget_seconds) {
    return fmt::format("would take about {}, more than what is left of --budget",
                       format_wait(estimate.seconds));
  }
  return "";
}

}  // namespace headroom::plan
