// The roofs that results are held to. Those of a run are measured once, before its first cell,
// perhaps while somebody else had half of the machine: what later readings pass is no roof.
#pragma once

#include <string>
#include <vector>

#include "record/peaks.hpp"
#include "record/result.hpp"
#include "record/results_folder.hpp"

namespace headroom::judge {

/// The measured roofs, raised to what the controls beside the cells reached: multiply-adds, with
/// the clock there, and register tiles, by threads. A cell counts by the median of its readings,
/// and other cells must confirm it: a tenth of them, at least one if there are several.
record::Peaks credible_roofs(const record::Peaks& measured,
                             const std::vector<record::CellResult>& results);

/// Those of a folder.
record::Peaks roofs_of(const record::ResultsFolder& folder);

/// Where a roof was raised by more than readings of a quiet machine differ, a sentence of each.
std::vector<std::string> raised_words(const record::Peaks& measured, const record::Peaks& roofs);

}  // namespace headroom::judge
