// Whether a cell is measured at all.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "plan/cell.hpp"
#include "plan/estimate.hpp"

namespace headroom::plan {

/// What a cell may use. The defaults allow everything.
struct Limits {
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();
  std::string_view more_memory = {};        ///< how to allow more, such as an option; may be empty
  std::optional<double> cell_seconds = {};  ///< set if no budget is given
  std::optional<double> budget_seconds = {};  ///< what is left of the budget
};

/// Seconds that one cell may take if no budget is given.
inline constexpr double kCellLimitSeconds = 60;

/// Why a cell is skipped; empty if it is measured. Decided from its estimate, before anything is
/// allocated for it. This is the only admission rule; every command uses it.
std::string reason_to_skip(const Case& shape, const Cell& cell, const CellEstimate& estimate,
                           const Limits& limits);

}  // namespace headroom::plan
