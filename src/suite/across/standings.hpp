// Which backend wins which shape on which machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "across/cells.hpp"
#include "judge/link_choice.hpp"
#include "judge/ranking.hpp"

namespace headroom::across {

/// The fastest verified cell of a backend in one contest.
struct Rival {
  const record::CellResult* cell = nullptr;
  judge::Difference to_fastest;  ///< for the fastest itself a ratio of 1, `same`

  const std::string& backend() const { return cell->cell.backend; }
  bool leads() const { return to_fastest.verdict != judge::Verdict::slower; }
  judge::Loss loss() const { return judge::loss_of(to_fastest); }
};

/// A contest on one machine, in its newest folder that says something of it.
struct Standing {
  std::size_t machine = 0;
  std::size_t entry = 0;
  std::vector<Rival> rivals;  ///< the fastest first; at least one
  std::string choice;         ///< what to link for this alone, by the rule of `pick`
  judge::Sureness sureness = judge::Sureness::alone;

  const Rival& fastest() const { return rivals.front(); }
  /// Null without a verified time.
  const Rival* of(const std::string& backend) const;
};

/// A shape, with numbers of one accuracy and the state of the caches, on all machines.
struct Contest {
  std::string name;  ///< see `contest_of`
  Case shape;
  Numbers numbers;
  bool cold = false;
  std::vector<Standing> standings;  ///< of the machines that have it, in their order

  const Standing* on(std::size_t machine) const;
};

/// Asks for what is then judged: the contests must stay where they are until `comparisons` has run,
/// and `judge_standings` follows.
std::vector<Contest> find_contests(const Collection& collection);
void compare_standings(std::vector<Contest>& contests, const Collection& collection,
                       judge::Comparisons& comparisons);
void judge_standings(std::vector<Contest>& contests);

}  // namespace headroom::across
