#include "across/versus.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "judge/competes.hpp"

namespace headroom::across {
namespace {

using record::CellResult;

// Every pair of places, each once.
std::vector<Versus> pairs_of(const std::vector<Place>& places, const Programs& programs) {
  std::vector<Versus> pairs;
  for (std::size_t j = 0; j < places.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      pairs.push_back(
          {places[i],
           places[j],
           {},
           programs.differing({places[i].entry, places[j].entry}, places[j].cell->cell.backend)});
    }
  }
  return pairs;
}

// The cells of a contest that may be compared, by id, in the folders of its standings.
std::vector<SameCell> same_cells(const Contest& contest, const Collection& collection,
                                 const Programs& programs) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<Place>> places;
  for (const Standing& standing : contest.standings) {
    for (const CellResult* cell : record::in_order(collection.entries[standing.entry].folder)) {
      if (!judge::competes(*cell) || contest_of(*cell) != contest.name) continue;
      std::vector<Place>& own = places[cell->cell.id];
      if (own.empty()) order.push_back(cell->cell.id);
      own.push_back({standing.entry, cell});
    }
  }
  std::vector<SameCell> cells;
  for (const std::string& id : order) {
    if (places[id].size() > 1) cells.push_back({id, pairs_of(places[id], programs)});
  }
  return cells;
}

Matrix matrix_of(const Contest& contest, const Collection& collection, const Programs& programs) {
  std::vector<Place> fastest;
  for (const Standing& standing : contest.standings) {
    fastest.push_back({standing.entry, standing.fastest().cell});
  }
  return {&contest, pairs_of(fastest, programs), same_cells(contest, collection, programs)};
}

std::size_t size_of(const Matrix& matrix) {
  std::size_t size = matrix.fastest.size();
  for (const SameCell& cell : matrix.cells) size += cell.pairs.size();
  return size;
}

void compare(Versus& versus, const Collection& collection, bool one_machine,
             judge::Comparisons& comparisons) {
  const double floor = std::max(collection.entries[versus.base.entry].noise_floor,
                                collection.entries[versus.next.entry].noise_floor);
  comparisons.add(
      {versus.base.cell, versus.next.cell, floor, one_machine},
      [&versus](const judge::CellDifference& found) { versus.difference = found.difference; });
}

// Null where the folder has no verified time for it.
const CellResult* same_in(const Entry& entry, const CellResult& cell) {
  const std::vector<CellResult>& results = entry.folder.results;
  const auto found = std::find_if(results.begin(), results.end(), [&](const CellResult& other) {
    return other.cell.id == cell.cell.id && other.cache == cell.cache && judge::verified(other);
  });
  return found == results.end() ? nullptr : &*found;
}

}  // namespace

const Versus* Matrix::between(const Collection& collection, std::size_t a, std::size_t b) const {
  const auto found = std::find_if(fastest.begin(), fastest.end(), [&](const Versus& versus) {
    const std::size_t base = collection.entries[versus.base.entry].machine;
    const std::size_t next = collection.entries[versus.next.entry].machine;
    return (base == a && next == b) || (base == b && next == a);
  });
  return found == fastest.end() ? nullptr : &*found;
}

Matrices find_matrices(const std::vector<Contest>& contests, const Collection& collection) {
  std::vector<const Contest*> shared;
  for (const Contest& contest : contests) {
    if (contest.standings.size() > 1) shared.push_back(&contest);
  }
  std::vector<const Contest*> wanted = shared;
  std::stable_sort(wanted.begin(), wanted.end(), [](const Contest* a, const Contest* b) {
    return a->standings.size() > b->standings.size();
  });
  const Programs programs(collection);
  Matrices matrices;
  std::size_t pairs = 0;
  for (const Contest* contest : wanted) {
    Matrix matrix = matrix_of(*contest, collection, programs);
    pairs += size_of(matrix);
    // The first one is shown whatever its size, or there would be nothing.
    if (pairs > kMostPairs && !matrices.shown.empty()) {
      pairs -= size_of(matrix);
      ++matrices.left_out;
      continue;
    }
    matrices.shown.push_back(std::move(matrix));
  }
  // In the order of the contests, which is that of their sizes.
  std::stable_sort(matrices.shown.begin(), matrices.shown.end(),
                   [](const Matrix& a, const Matrix& b) { return a.contest < b.contest; });
  return matrices;
}

void compare_matrices(Matrices& matrices, const Collection& collection,
                      judge::Comparisons& comparisons) {
  for (Matrix& matrix : matrices.shown) {
    for (Versus& versus : matrix.fastest) compare(versus, collection, false, comparisons);
    for (SameCell& cell : matrix.cells) {
      for (Versus& versus : cell.pairs) compare(versus, collection, false, comparisons);
    }
  }
}

std::vector<Change> find_changes(const std::vector<Contest>& contests, const Collection& collection,
                                 std::size_t& left_out) {
  const Programs programs(collection);
  std::vector<Change> changes;
  left_out = 0;
  for (std::size_t machine = 0; machine < collection.machines.size(); ++machine) {
    for (const Contest& contest : contests) {
      const Standing* standing = contest.on(machine);
      if (standing == nullptr) continue;
      const CellResult& now = *standing->fastest().cell;
      const std::string& version = collection.entries[standing->entry].version;
      for (const std::size_t entry : collection.machines[machine].entries) {
        if (entry >= standing->entry || collection.entries[entry].version == version) continue;
        const CellResult* before = same_in(collection.entries[entry], now);
        if (before == nullptr) continue;
        if (changes.size() == kMostPairs) {
          ++left_out;
          continue;
        }
        changes.push_back({machine,
                           &contest,
                           {{entry, before},
                            {standing->entry, &now},
                            {},
                            programs.differing({entry, standing->entry}, now.cell.backend)}});
      }
    }
  }
  return changes;
}

void compare_changes(std::vector<Change>& changes, const Collection& collection,
                     judge::Comparisons& comparisons) {
  for (Change& change : changes) compare(change.versus, collection, true, comparisons);
}

}  // namespace headroom::across
