// Measures the candidates of a pick.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/meters/peak.hpp"
#include "measure/settings.hpp"
#include "pick/pick.hpp"
#include "plan/axes.hpp"
#include "plan/cell.hpp"
#include "record/results_folder.hpp"

namespace headroom::pick {

/// A cell whose estimate exceeds that of the fastest rival by this factor is not a candidate.
/// Estimates are accurate to a factor of about two.
inline constexpr double kHopeless = 10;

/// What will be measured, with notes and warnings for the user.
struct Contest {
  plan::Plan plan;
  measure::Settings settings;
  double least_budget = 0;  ///< seconds with which every cell is measured, as estimated

  std::vector<Case> shapes() const;
};

/// Every cell that could win and that the filters allow.
/// @param budget seconds for everything; without a value 90 s per shape
/// @throws InvalidArgument without a shape, for one with nothing to compute, or if the filters
///         leave nothing; as `plan::expand`. ResourceError if the budget has no room for any cell
///         of a shape.
Contest prepare_contest(const plan::Axes& axes, const Filters& filters,
                        std::optional<double> budget, machine::LimitKernelsOf limits_of);

/// Checks and times every cell, as a results folder that is on no disk.
/// @throws ResourceError if the budget went by before any cell of a shape was measured.
record::ResultsFolder run_contest(const Contest& contest);

/// A round of a contest that `run_contest` began. @param seconds that it may take
std::vector<record::CellResult> run_round(const Contest& contest, const plan::Plan& plan,
                                          double seconds);

}  // namespace headroom::pick
