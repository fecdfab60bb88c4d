#include "across/standings.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "judge/competes.hpp"

namespace headroom::across {
namespace {

using record::CellResult;

// The fastest cell of each backend; the fastest backend first.
std::vector<Rival> rivals_of(const std::vector<const CellResult*>& cells) {
  std::map<std::string, const CellResult*> best;
  for (const CellResult* cell : cells) {
    const CellResult*& own = best[cell->cell.backend];
    if (own == nullptr || cell->time.median < own->time.median) own = cell;
  }
  std::vector<Rival> rivals;
  for (const auto& [backend, cell] : best) rivals.push_back({cell, {}});
  std::stable_sort(rivals.begin(), rivals.end(), [](const Rival& a, const Rival& b) {
    return a.cell->time.median < b.cell->time.median;
  });
  return rivals;
}

// The newest folder in which there is something to choose from; else the newest.
std::optional<Standing> standing_of(
    const Machine& machine, const std::map<std::size_t, std::vector<const CellResult*>>& by_entry) {
  std::optional<Standing> found;
  for (auto entry = machine.entries.rbegin(); entry != machine.entries.rend(); ++entry) {
    const auto cells = by_entry.find(*entry);
    if (cells == by_entry.end()) continue;
    Standing standing;
    standing.entry = *entry;
    standing.rivals = rivals_of(cells->second);
    if (standing.rivals.size() > 1) return standing;
    if (!found) found = std::move(standing);
  }
  return found;
}

struct Cells {
  const CellResult* first = nullptr;
  std::map<std::size_t, std::vector<const CellResult*>> by_entry;
};

Contest contest_of_cells(const std::string& name, const Cells& cells,
                         const Collection& collection) {
  Contest contest;
  contest.name = name;
  contest.shape = cells.first->shape;
  contest.numbers = accuracy_class(cells.first->cell.numbers);
  contest.cold = cells.first->cache == plan::CacheState::cold;
  for (std::size_t i = 0; i < collection.machines.size(); ++i) {
    std::optional<Standing> standing = standing_of(collection.machines[i], cells.by_entry);
    if (!standing) continue;
    standing->machine = i;
    contest.standings.push_back(std::move(*standing));
  }
  return contest;
}

// As people look for them: like shapes together, the smallest first.
auto order_of(const Contest& contest) {
  const Case& shape = contest.shape;
  return std::tuple(contest.numbers.as_stored(), contest.numbers.precision, contest.cold,
                    shape.tokens, shape.past, shape.heads, shape.d_out);
}

judge::Sureness sureness_of(const Standing& standing) {
  std::vector<judge::Showing> backends;
  for (const Rival& rival : standing.rivals) backends.push_back({rival.leads(), rival.loss()});
  return judge::sureness_of(backends);
}

std::string choice_of(const Standing& standing) {
  std::vector<judge::Contender> contenders;
  for (const Rival& rival : standing.rivals) {
    contenders.push_back(judge::contender_of(*rival.cell, *standing.fastest().cell,
                                             rival.to_fastest,
                                             judge::weight_by_facts(rival.backend())));
  }
  return standing.rivals[judge::choose_to_link(contenders, standing.sureness).chosen].backend();
}

}  // namespace

const Rival* Standing::of(const std::string& backend) const {
  const auto found = std::find_if(rivals.begin(), rivals.end(),
                                  [&](const Rival& rival) { return rival.backend() == backend; });
  return found == rivals.end() ? nullptr : &*found;
}

const Standing* Contest::on(std::size_t machine) const {
  const auto found =
      std::find_if(standings.begin(), standings.end(),
                   [&](const Standing& standing) { return standing.machine == machine; });
  return found == standings.end() ? nullptr : &*found;
}

std::vector<Contest> find_contests(const Collection& collection) {
  std::map<std::string, Cells> by_name;
  for (std::size_t i = 0; i < collection.entries.size(); ++i) {
    for (const CellResult& cell : collection.entries[i].folder.results) {
      if (!judge::competes(cell)) continue;
      Cells& cells = by_name[contest_of(cell)];
      if (cells.first == nullptr) cells.first = &cell;
      cells.by_entry[i].push_back(&cell);
    }
  }
  std::vector<Contest> contests;
  for (const auto& [name, cells] : by_name) {
    contests.push_back(contest_of_cells(name, cells, collection));
  }
  std::stable_sort(contests.begin(), contests.end(),
                   [](const Contest& a, const Contest& b) { return order_of(a) < order_of(b); });
  return contests;
}

void compare_standings(std::vector<Contest>& contests, const Collection& collection,
                       judge::Comparisons& comparisons) {
  for (Contest& contest : contests) {
    for (Standing& standing : contest.standings) {
      const double floor = collection.entries[standing.entry].noise_floor;
      standing.rivals.front().to_fastest = judge::no_difference();
      for (std::size_t i = 1; i < standing.rivals.size(); ++i) {
        Rival& rival = standing.rivals[i];
        comparisons.add(
            {standing.fastest().cell, rival.cell, floor},
            [&rival](const judge::CellDifference& found) { rival.to_fastest = found.difference; });
      }
    }
  }
}

void judge_standings(std::vector<Contest>& contests) {
  for (Contest& contest : contests) {
    for (Standing& standing : contest.standings) {
      standing.sureness = sureness_of(standing);
      standing.choice = choice_of(standing);
    }
  }
}

}  // namespace headroom::across
