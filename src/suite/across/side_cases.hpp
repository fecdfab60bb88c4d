// What only some machines or folders have: several precisions, cold caches, a price.
#pragma once

#include <cstddef>
#include <vector>

#include "across/versus.hpp"

namespace headroom::across {

/// The fastest verified cell with some numbers.
struct NumbersPoint {
  const record::CellResult* cell = nullptr;
  judge::Difference to_f32;  ///< its time over that of f32; for f32 itself a ratio of 1
};

/// A shape on one machine, in the newest folder that has it with several numbers, f32 among them.
struct PrecisionRow {
  std::size_t entry = 0;
  std::vector<NumbersPoint> points;  ///< f32 first, then from the most to the least exact
};

/// The fastest cell of a shape with warm caches, and the same one with cold ones.
struct ColdRow {
  std::size_t machine = 0;
  Versus versus;  ///< warm is the base
};

/// What a machine with a price gives for it in one contest.
struct ValuePoint {
  std::size_t machine = 0;
  Place place;
  double passes = 0;          ///< for one unit of money, by the median time
  judge::Difference to_best;  ///< money for a pass over that of the cheapest; there a ratio of 1
};

struct ValueRow {
  const Contest* contest = nullptr;
  std::vector<ValuePoint> points;  ///< the cheapest pass first; of at least two machines
};

/// As `compare_standings`.
std::vector<PrecisionRow> find_precisions(const Collection& collection);
void compare_precisions(std::vector<PrecisionRow>& rows, const Collection& collection,
                        judge::Comparisons& comparisons);

std::vector<ColdRow> find_cold(const std::vector<Contest>& contests, const Collection& collection);
void compare_cold(std::vector<ColdRow>& rows, const Collection& collection,
                  judge::Comparisons& comparisons);

std::vector<ValueRow> find_value(const std::vector<Contest>& contests,
                                 const Collection& collection);
void compare_value(std::vector<ValueRow>& rows, const Collection& collection,
                   judge::Comparisons& comparisons);

}  // namespace headroom::across
