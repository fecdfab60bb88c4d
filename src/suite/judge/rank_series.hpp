// One cell on more and more ranks: what was measured, beside what is predicted from one rank.
#pragma once

#include <vector>

#include "record/peaks.hpp"
#include "record/result.hpp"

namespace headroom::judge {

struct RankRow {
  int ranks = 1;
  const record::CellResult* measured = nullptr;  ///< null: no time
  double predicted = 0;                          ///< seconds
};

/// Cells that differ in nothing but their ranks.
struct RankSeries {
  const record::CellResult* one = nullptr;  ///< on one rank, from whose phases it is predicted
  std::vector<RankRow> rows;                ///< those of `predicted_ranks`, and all measured ones
};

/// For each contest (`CellResult::contest`), in their order, the cells with the best time on
/// several ranks, if they have one on one rank as well: more threads on one rank may be faster
/// there, but leave no cores to further ranks. Refers to the results.
std::vector<RankSeries> rank_series(const std::vector<const record::CellResult*>& results,
                                    const record::Link& link);

}  // namespace headroom::judge
