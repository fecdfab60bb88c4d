// How much faster a machine becomes with more threads.
#pragma once

#include <cstddef>
#include <vector>

#include "across/standings.hpp"

namespace headroom::across {

/// A cell on some number of threads.
struct ThreadPoint {
  const record::CellResult* cell = nullptr;
  judge::Difference to_one;  ///< its time over that of the same cell on one thread

  double speedup() const { return 1 / to_one.ratio; }
  statistics::Interval speedup_ci95() const { return {1 / to_one.ci95.high, 1 / to_one.ci95.low}; }
};

/// A cell of a shape on one machine, in the newest folder that has it on one thread and on more: of
/// several such cells the one that is the fastest on any number of threads.
struct ThreadRow {
  const Contest* contest = nullptr;
  std::size_t machine = 0;
  std::size_t entry = 0;
  const record::CellResult* one = nullptr;
  std::vector<ThreadPoint> more;  ///< fewest threads first; at least one
};

/// Of warm caches; contest by contest, machine by machine. Calls as those of `compare_standings`.
std::vector<ThreadRow> find_threads(const std::vector<Contest>& contests,
                                    const Collection& collection);
void compare_threads(std::vector<ThreadRow>& rows, const Collection& collection,
                     judge::Comparisons& comparisons);

}  // namespace headroom::across
