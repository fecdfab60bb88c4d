// The cells of all folders, the same ones side by side.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "across/collection.hpp"
#include "record/result.hpp"

namespace headroom::across {

/// Where it may win: `CellResult::contest`, apart for caches that are cold.
std::string contest_of(const record::CellResult& result);

/// A cell of one folder.
struct Place {
  std::size_t entry = 0;
  const record::CellResult* cell = nullptr;
};

/// One cell in all folders that have it, whatever its status.
struct Joined {
  std::string id;             ///< `Cell::id`, with ` cold` where the caches were
  std::vector<Place> places;  ///< in the order of the entries
  /// What differs in the programs behind its times, such as `"compiler flags"`.
  std::vector<std::string> differs;
};

/// Shape by shape, in the order of the first folder that has it.
std::vector<Joined> join(const Collection& collection);

}  // namespace headroom::across
