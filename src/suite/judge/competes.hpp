// Whose time counts, and who may win: the one rule for every command, page and table.
#pragma once

#include <string>

#include "record/result.hpp"

namespace headroom::judge {

/// What is wrong with a cell that has no time, or was not checked and found to be right in the same
/// run; empty for one that is verified.
std::string why_not_verified(const record::CellResult& result);

bool verified(const record::CellResult& result);

/// Whether a cell may be the fastest of its shape, and be recommended: verified, in one process,
/// and of a backend of ours under its own name.
bool competes(const record::CellResult& result);

}  // namespace headroom::judge
