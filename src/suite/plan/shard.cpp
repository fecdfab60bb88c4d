#include "plan/shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "headroom/error.hpp"
#include "program/numbers.hpp"

namespace headroom::plan {

Shard parse_shard(const std::string& option, const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw InvalidArgument(
        fmt::format("{}: '{}' is not a part of a sweep; give I/N such as 1/8, with I from 1 to N",
                    option, text));
  }
  const Shard shard{parse_number(option, text.substr(0, slash)),
                    parse_number(option, text.substr(slash + 1))};
  if (shard.index > shard.count) {
    throw InvalidArgument(fmt::format("{}: there is no part {} of {}; give 1 to {}", option,
                                      shard.index, shard.count, shard.count));
  }
  return shard;
}

void keep_cells(Plan& plan, const std::string& option, const std::vector<std::string>& ids) {
  std::vector<std::string> known;
  for (Group& group : plan.groups) {
    for (const Cell& cell : group.cells) known.push_back(cell.id);
    std::erase_if(group.cells, [&](const Cell& cell) {
      return std::find(ids.begin(), ids.end(), cell.id) == ids.end();
    });
  }
  std::erase_if(plan.groups, [](const Group& group) { return group.cells.empty(); });
  for (const std::string& id : ids) {
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    throw InvalidArgument(fmt::format(
        "{}: the axes have no cell '{}'; --dry-run lists those that they have", option, id));
  }
}

void keep_shard(Plan& plan, const Shard& shard) {
  std::vector<Group> kept;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const auto owner = static_cast<std::int64_t>(i) % shard.count + 1;
    if (owner == shard.index) kept.push_back(std::move(plan.groups[i]));
  }
  plan.groups = std::move(kept);
}

}  // namespace headroom::plan
