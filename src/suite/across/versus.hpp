// Machines against machines, and versions of one machine against each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "across/differences.hpp"
#include "across/standings.hpp"
#include "judge/ranking.hpp"

namespace headroom::across {

/// Two cells and the verdict on the second.
struct Versus {
  Place base, next;
  judge::Difference difference;      ///< time of next / time of base
  std::vector<std::string> differs;  ///< in what their programs differ
};

/// The same cell on several machines, each pair once.
struct SameCell {
  std::string id;
  std::vector<Versus> pairs;
};

/// Verdicts of one contest.
struct Matrix {
  const Contest* contest = nullptr;
  std::vector<Versus> fastest;  ///< the fastest cell of each pair of machines
  std::vector<SameCell> cells;  ///< those that at least two machines have

  /// The verdict on machine `next` beside `base`, and whether it is to be read the other way round;
  /// null where one of them has nothing.
  const Versus* between(const Collection& collection, std::size_t a, std::size_t b) const;
};

/// All that the page compares between machines, at most so many pairs: a page of everything would
/// say nothing, and each claim makes all others weaker. Contests that most machines have come
/// first.
struct Matrices {
  std::vector<Matrix> shown;
  std::size_t left_out = 0;  ///< contests that at least two machines have, for which no room was
};

inline constexpr std::size_t kMostPairs = 1500;

/// As `compare_standings`: what is returned must stay where it is until the comparisons have run.
Matrices find_matrices(const std::vector<Contest>& contests, const Collection& collection);
void compare_matrices(Matrices& matrices, const Collection& collection,
                      judge::Comparisons& comparisons);

/// The newest version of a machine beside an older one: the cell that is now the fastest of its
/// contest.
struct Change {
  std::size_t machine = 0;
  const Contest* contest = nullptr;
  Versus versus;  ///< the older version is the base
};

/// Machine by machine, contest by contest, the oldest version first. At most `kMostPairs`, of the
/// first contests; @param left_out counts the others
std::vector<Change> find_changes(const std::vector<Contest>& contests, const Collection& collection,
                                 std::size_t& left_out);
void compare_changes(std::vector<Change>& changes, const Collection& collection,
                     judge::Comparisons& comparisons);

}  // namespace headroom::across
