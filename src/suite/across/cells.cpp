#include "across/cells.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "across/differences.hpp"
#include "judge/competes.hpp"

namespace headroom::across {
namespace {

using record::CellResult;

bool is_cold(const CellResult& result) { return result.cache == plan::CacheState::cold; }

}  // namespace

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
      if (judge::verified(*place.cell)) entries.push_back(place.entry);
    }
    joined.differs = programs.differing(entries, joined.places.front().cell->cell.backend);
    all.push_back(std::move(joined));
  }
  return all;
}

}  // namespace headroom::across
