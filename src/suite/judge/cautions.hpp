// Conditions that spoil a measurement, each with what to do about it.
#pragma once

#include <string>
#include <vector>

#include "machine/conditions.hpp"
#include "record/peaks.hpp"
#include "record/result.hpp"

namespace headroom::judge {

/// About this program, and about the machine before the first cell.
std::vector<std::string> cautions_before(const machine::Conditions& now, bool release_build);

/// About what was observed while the cells were measured.
/// @param stolen share of processor time that went to other machines; 0 if unknown
/// @param measured roofs before the first cell; with their clocks and their rate of one thread, as
///        `credible_roofs` has them, the cells are compared
std::vector<std::string> cautions_after(const std::vector<record::CellResult>& results,
                                        double stolen, const record::Peaks& measured = {});

}  // namespace headroom::judge
