// Takes up a sweep that ended early.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/cell.hpp"
#include "record/journal.hpp"
#include "record/result.hpp"

namespace headroom::record {

struct Continuation {
  bool found = false;  ///< the folder had an environment; else the sweep starts anew
  nlohmann::ordered_json environment;  ///< as recorded
  std::vector<CellResult> kept;        ///< done before, with their places in the plan
  std::vector<std::string> notes;
};

/// Drops the cells of `plan` that the folder has. Cells that crashed are taken out of the folder
/// and stay in the plan: what killed them may have come from outside. A torn last line goes as
/// well.
/// @param environment what this run would record
/// @throws InvalidArgument that names what differs, before anything is changed; FileError for
///         lines that cannot be read.
Continuation continue_sweep(plan::Plan& plan, const nlohmann::ordered_json& environment,
                            Journal& journal);

}  // namespace headroom::record
