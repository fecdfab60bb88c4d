// Measures on where a pick is open.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pick/contest.hpp"
#include "pick/pick.hpp"
#include "record/results_folder.hpp"

namespace headroom::pick {

/// Measures these groups once more and returns their results. @param seconds that are left
using MeasureRound = std::function<std::vector<record::CellResult>(const plan::Plan&, double)>;

/// What a round has to measure: the candidates that are open, each beside the fastest of its shape.
plan::Plan plan_of_open(const Contest& contest, const Pick& pick);

/// Adds a round's samples to those of the same cells.
void add_round(record::ResultsFolder& folder, const std::vector<record::CellResult>& round,
               const Contest& contest);

/// The pick from a measured contest. As long as it is open and a round fits into what is left of
/// the budget, what leaves it open is measured again.
/// @param seconds_spent of the budget, asked before each round
Pick pick_with_rounds(const Contest& contest, record::ResultsFolder& folder, const Filters& filters,
                      const std::function<double()>& seconds_spent, const MeasureRound& measure);

}  // namespace headroom::pick
