#include "across/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "across/differences.hpp"
#include "backends/backend.hpp"

namespace headroom::across {
namespace {

using record::CellResult;

bool is_cold(const CellResult& result) { return result.cache == plan::CacheState::cold; }

// The limits are those of the record: what is found beyond them was not found right.
bool within_limits(const CellResult& result) {
  const auto& error = *result.error;
  if (error.by_element()) return error.bound_ratio <= 1;
  return error.nrmse <= error.limits.nrmse && error.max_over_rms <= error.limits.max_over_rms;
}

}  // namespace

std::string why_not_verified(const CellResult& result) {
  if (!result.has_time()) {
    return fmt::format("{}: {}", to_string(result.status), result.reason);
  }
  if (!result.error || result.checked_rows <= 0) return "it was not checked";
  return within_limits(result) ? "" : "its error is beyond its limit";
}

bool verified(const CellResult& result) {
  return result.has_time() && why_not_verified(result).empty();
}

// `auto` is another backend under a second name; a peer is no backend, and what is linked is one
// process.
bool competes(const CellResult& result) {
  return verified(result) && !result.peer && result.cell.ranks == 1 &&
         result.cell.backend != "auto" && !backend_facts(result.cell.backend).only_compared;
}

std::string contest_of(const CellResult& result) {
  return result.contest() + (is_cold(result) ? " cold" : "");
}

std::vector<Joined> join(const Collection& collection) {
  // Shapes in the order of the first folder that has them, and cells within a shape likewise.
  std::map<std::string, std::size_t> shapes, places;
  std::vector<std::pair<std::size_t, Joined>> keyed;
  for (std::size_t i = 0; i < collection.entries.size(); ++i) {
    for (const CellResult* cell : record::in_order(collection.entries[i].folder)) {
      const std::string id = cell->cell.id + (is_cold(*cell) ? " cold" : "");
      const std::size_t shape = shapes.try_emplace(cell->shape.id(), shapes.size()).first->second;
      const auto [place, fresh] = places.try_emplace(id, keyed.size());
      if (fresh) keyed.push_back({shape, {id, {}, {}}});
      keyed[place->second].second.places.push_back({i, cell});
    }
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const Programs programs(collection);
  std::vector<Joined> all;
  for (auto& [shape, joined] : keyed) {
    std::vector<std::size_t> entries;
    for (const Place& place : joined.places) {
      if (verified(*place.cell)) entries.push_back(place.entry);
    }
    joined.differs = programs.differing(entries, joined.places.front().cell->cell.backend);
    all.push_back(std::move(joined));
  }
  return all;
}

}  // namespace headroom::across
