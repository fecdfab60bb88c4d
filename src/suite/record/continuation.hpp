// Continues a sweep that ended early.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/cell.hpp"
#include "record/journal.hpp"
#include "record/result.hpp"

namespace headroom::record {

struct Continuation {
  bool found = false;  ///< the folder had an environment; otherwise the sweep starts afresh
  nlohmann::ordered_json environment;  ///< as recorded
  std::vector<CellResult> kept;        ///< done before, with their positions in the plan
  std::vector<std::string> notes;
};

/// Removes from `plan` the cells that the folder has. Crashed cells are removed from the folder and
/// stay in the plan: the cause may have been external. A torn last line is removed as well.
/// @param environment what this run would record
/// @throws InvalidArgument naming what differs, before anything is changed; FileError for
///         lines that cannot be read.
Continuation continue_sweep(plan::Plan& plan, const nlohmann::ordered_json& environment,
                            Journal& journal);

}  // namespace headroom::record
