#include "across/side_cases.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "judge/competes.hpp"

namespace headroom::across {
namespace {

using record::CellResult;

constexpr double kSecondsOfAnHour = 3600;

using ByNumbers = std::map<std::pair<Numbers, Precision>, const CellResult*>;

// By what is stored first and by precision second: from the most to the least exact.
std::map<std::string, ByNumbers> by_shape(const Entry& entry) {
  std::map<std::string, ByNumbers> shapes;
  for (const CellResult* cell : record::in_order(entry.folder)) {
    if (!judge::competes(*cell) || cell->cache == plan::CacheState::cold) continue;
    const Numbers& numbers = cell->cell.numbers;
    const CellResult*& best = shapes[cell->shape.id()][{numbers.as_stored(), numbers.precision}];
    if (best == nullptr || cell->time.median < best->time.median) best = cell;
  }
  return shapes;
}

}  // namespace

std::vector<PrecisionRow> find_precisions(const Collection& collection) {
  std::vector<PrecisionRow> rows;
  for (const Machine& machine : collection.machines) {
    std::set<std::string> seen;
    for (auto entry = machine.entries.rbegin(); entry != machine.entries.rend(); ++entry) {
      for (const auto& [shape, cells] : by_shape(collection.entries[*entry])) {
        const bool has_f32 = cells.contains({Numbers{}, Precision::f32});
        if (cells.size() < 2 || !has_f32 || !seen.insert(shape).second) continue;
        PrecisionRow row{*entry, {}};
        for (const auto& [numbers, cell] : cells) row.points.push_back({cell, {}});
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

void compare_precisions(std::vector<PrecisionRow>& rows, const Collection& collection,
                        judge::Comparisons& comparisons) {
  for (PrecisionRow& row : rows) {
    const double floor = collection.entries[row.entry].noise_floor;
    const CellResult* base = row.points.front().cell;
    row.points.front().to_f32.ci95 = {1, 1};
    for (std::size_t i = 1; i < row.points.size(); ++i) {
      NumbersPoint& point = row.points[i];
      comparisons.add({base, point.cell, floor}, [&point](const judge::CellDifference& found) {
        point.to_f32 = found.difference;
      });
    }
  }
}

std::vector<ColdRow> find_cold(const std::vector<Contest>& contests, const Collection& collection) {
  // Cold cells by machine and id; of several versions the newest.
  std::map<std::pair<std::size_t, std::string>, Place> cold;
  for (std::size_t i = 0; i < collection.entries.size(); ++i) {
    for (const CellResult& cell : collection.entries[i].folder.results) {
      if (cell.cache != plan::CacheState::cold || !judge::competes(cell)) continue;
      cold[{collection.entries[i].machine, cell.cell.id}] = {i, &cell};
    }
  }
  const Programs programs(collection);
  std::vector<ColdRow> rows;
  for (const Contest& contest : contests) {
    if (contest.cold) continue;
    for (const Standing& standing : contest.standings) {
      const CellResult& warm = *standing.fastest().cell;
      const auto found = cold.find({standing.machine, warm.cell.id});
      if (found == cold.end()) continue;
      rows.push_back(
          {standing.machine,
           {{standing.entry, &warm},
            found->second,
            {},
            programs.differing({standing.entry, found->second.entry}, warm.cell.backend)}});
    }
  }
  return rows;
}

void compare_cold(std::vector<ColdRow>& rows, const Collection& collection,
                  judge::Comparisons& comparisons) {
  for (ColdRow& row : rows) {
    const double floor = collection.entries[row.versus.base.entry].noise_floor;
    comparisons.add(
        {row.versus.base.cell, row.versus.next.cell, floor},
        [&row](const judge::CellDifference& found) { row.versus.difference = found.difference; });
  }
}

std::vector<ValueRow> find_value(const std::vector<Contest>& contests,
                                 const Collection& collection) {
  std::vector<ValueRow> rows;
  for (const Contest& contest : contests) {
    ValueRow row{&contest, {}};
    for (const Standing& standing : contest.standings) {
      const std::optional<double>& price = collection.machines[standing.machine].price;
      if (!price) continue;
      const CellResult* cell = standing.fastest().cell;
      row.points.push_back({standing.machine,
                            {standing.entry, cell},
                            kSecondsOfAnHour / *price / cell->time.median,
                            {}});
    }
    if (row.points.size() < 2) continue;
    std::stable_sort(row.points.begin(), row.points.end(),
                     [](const ValuePoint& a, const ValuePoint& b) { return a.passes > b.passes; });
    rows.push_back(std::move(row));
  }
  return rows;
}

void compare_value(std::vector<ValueRow>& rows, const Collection& collection,
                   judge::Comparisons& comparisons) {
  for (ValueRow& row : rows) {
    const ValuePoint& best = row.points.front();
    const double best_price = *collection.machines[best.machine].price;
    row.points.front().to_best = judge::no_difference();
    for (std::size_t i = 1; i < row.points.size(); ++i) {
      ValuePoint& point = row.points[i];
      const double floor = std::max(collection.entries[best.place.entry].noise_floor,
                                    collection.entries[point.place.entry].noise_floor);
      comparisons.add(
          {best.place.cell, point.place.cell, floor, false,
           *collection.machines[point.machine].price / best_price},
          [&point](const judge::CellDifference& found) { point.to_best = found.difference; });
    }
  }
}

}  // namespace headroom::across
