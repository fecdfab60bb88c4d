// A part of a plan, for several processes or machines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/cell.hpp"

namespace headroom::plan {

/// One of several equal parts of a plan; the first has the index 1.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};

/// @param text such as `3/8`. @throws InvalidArgument for anything else.
Shard parse_shard(const std::string& option, const std::string& text);

/// Keeps every `count`-th shape, beginning with the `index`-th. Neighbours cost about the same, so
/// each part gets its share of the expensive ones. All rivals of a shape stay together.
void keep_shard(Plan& plan, const Shard& shard);

/// Keeps only the cells with these ids.
/// @throws InvalidArgument for an id that the plan lacks.
void keep_cells(Plan& plan, const std::string& option, const std::vector<std::string>& ids);

}  // namespace headroom::plan
