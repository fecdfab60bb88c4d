// What spoils a measurement, said once, with what to do about it.
#pragma once

#include <string>
#include <vector>

#include "machine/conditions.hpp"
#include "record/peaks.hpp"
#include "record/result.hpp"

namespace headroom::judge {

/// Of the machine as it is before the first cell, and of this program.
std::vector<std::string> cautions_before(const machine::Conditions& now, bool release_build);

/// Of what was seen while the cells were measured.
/// @param stolen share of the processors' time that went to other machines; 0 if unknown
/// @param roofs whose clocks the cells are held against
std::vector<std::string> cautions_after(const std::vector<record::CellResult>& results,
                                        double stolen, const record::Peaks& roofs = {});

}  // namespace headroom::judge
