#include "across/thread_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "judge/competes.hpp"

namespace headroom::across {
namespace {

using record::CellResult;

// The same cell by its number of threads.
using ByThreads = std::map<int, const CellResult*>;

// Those of each contest and folder, by what the cells are called without their threads.
using Ladders = std::map<std::pair<std::string, std::size_t>, std::map<std::string, ByThreads>>;

std::string without_threads(const CellResult& cell) {
  const std::string threads = fmt::format("/t{}/", cell.threads);
  std::string way = cell.cell.id;
  const std::size_t place = way.find(threads);
  return place == std::string::npos ? way : way.replace(place, threads.size(), "/");
}

Ladders ladders_of(const Collection& collection) {
  Ladders ladders;
  for (std::size_t i = 0; i < collection.entries.size(); ++i) {
    for (const CellResult& cell : collection.entries[i].folder.results) {
      if (!judge::competes(cell) || cell.cache == plan::CacheState::cold) continue;
      ladders[{contest_of(cell), i}][without_threads(cell)].emplace(cell.threads, &cell);
    }
  }
  return ladders;
}

double best_time(const ByThreads& cells) {
  double best = cells.begin()->second->time.median;
  for (const auto& [threads, cell] : cells) best = std::min(best, cell->time.median);
  return best;
}

std::optional<ThreadRow> fastest_of(const std::map<std::string, ByThreads>& ways) {
  const ByThreads* found = nullptr;
  for (const auto& [way, cells] : ways) {
    if (!cells.contains(1) || cells.size() < 2) continue;
    if (found == nullptr || best_time(cells) < best_time(*found)) found = &cells;
  }
  if (found == nullptr) return {};
  ThreadRow row;
  for (const auto& [threads, cell] : *found) {
    if (threads == 1) {
      row.one = cell;
    } else {
      row.more.push_back({cell, {}});
    }
  }
  return row;
}

}  // namespace

std::vector<ThreadRow> find_threads(const std::vector<Contest>& contests,
                                    const Collection& collection) {
  const Ladders ladders = ladders_of(collection);
  std::vector<ThreadRow> rows;
  for (const Contest& contest : contests) {
    for (std::size_t machine = 0; machine < collection.machines.size(); ++machine) {
      const std::vector<std::size_t>& entries = collection.machines[machine].entries;
      for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        const auto ways = ladders.find({contest.name, *entry});
        if (ways == ladders.end()) continue;
        std::optional<ThreadRow> row = fastest_of(ways->second);
        if (!row) continue;
        row->contest = &contest;
        row->machine = machine;
        row->entry = *entry;
        rows.push_back(*std::move(row));
        break;
      }
    }
  }
  return rows;
}

void compare_threads(std::vector<ThreadRow>& rows, const Collection& collection,
                     judge::Comparisons& comparisons) {
  for (ThreadRow& row : rows) {
    const double floor = collection.entries[row.entry].noise_floor;
    for (ThreadPoint& point : row.more) {
      comparisons.add({row.one, point.cell, floor}, [&point](const judge::CellDifference& found) {
        point.to_one = found.difference;
      });
    }
  }
}

}  // namespace headroom::across
