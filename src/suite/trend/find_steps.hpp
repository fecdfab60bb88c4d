// Where the level of a series changes: times of one cell, version after version.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "statistics/intervals.hpp"
#include "trend/levels.hpp"

namespace headroom::trend {

/// For the newest version alone, which is only a reason to measure again.
inline constexpr double kFalseMaybes = 0.05;

struct FoundStep {
  std::size_t at = 0;         ///< the first level after it
  double ratio = 1;           ///< after / before; above 1 is slower
  statistics::Interval ci95;  ///< of the ratio
  double corrected_p = 1;     ///< of no change anywhere, corrected for all places and all series
};

struct FoundSteps {
  std::vector<FoundStep> steps;    ///< in the order of the levels
  std::optional<FoundStep> maybe;  ///< the last level alone differs from those before it
};

/// One series, and the ratio minus 1 below which a step does not matter in it.
struct Judged {
  Levels levels;
  double margin = 0;
};

/// The steps of every series; all of one machine belong into one call.
///
/// The question is asked of the levels of versions, not of samples: what differs from run to run,
/// such as the state of the machine that day, is the same for all samples of a run, and only a
/// second run shows how much it is. For each series, every stretch of versions is compared with all
/// versions outside of it, by a t test with a common spread (circular binary segmentation: Olshen,
/// Venkatraman, Lucito and Wigler 2004, Biostatistics 5). A stretch that reaches the newest version
/// is a step; one in the middle is two, such as a slowdown that was mended, which a search for one
/// step at a time does not see. The spread is that which the best stretch leaves, but never less
/// than the launches of each version show.
///
/// The p of the best stretch is multiplied by the number of stretches, a bound that holds whatever
/// they have in common, and then corrected for all series together (Benjamini and Hochberg). What
/// stays below `kFalseSteps` (stretches.hpp) is cut there, and each part is searched again, all
/// parts of all series as a family of their own. At the end each step is moved to its best place
/// between its neighbours, and stays only if the ratio of the levels beside it is beyond the
/// margin, its 95 % interval does not reach 1, and half of it is left without any one version on
/// each side.
///
/// This supposes that equal versions differ at random and independently. A machine that changes for
/// good is a step, too, unless the control takes it out.
std::vector<FoundSteps> find_steps(const std::vector<Judged>& series);

}  // namespace headroom::trend
