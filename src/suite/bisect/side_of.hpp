// To which of two ends a commit belongs, by the times of all three.
#pragma once

#include <string>
#include <vector>

#include "bisect/search.hpp"
#include "judge/verdict.hpp"
#include "record/results_folder.hpp"

namespace headroom::bisect {

/// What a program measured, round after round.
using Rounds = std::vector<record::ResultsFolder>;

/// A cell that both ends have a time of.
struct EndsCell {
  std::string id;
  judge::Difference difference;  ///< bad / good
};

struct EndsDifference {
  std::vector<EndsCell> slower;  ///< those that became slower, to which all else is about
  std::size_t compared = 0;
  bool in_doubt = false;  ///< a cell is neither the same nor different: more launches may tell
  double ratio = 1;       ///< of all slower cells together, bad / good
  double margin = 0;      ///< the larger of threshold and noise floor
};

/// @param threshold smallest difference that matters, as a ratio minus 1
EndsDifference compare_ends(const Rounds& good, const Rounds& bad, double threshold);

/// A commit between the ends.
struct Place {
  Finding finding = Finding::in_doubt;
  double ratio = 1;         ///< to the good end
  bool between = false;     ///< it differs from both ends: more than one commit matters
  std::string reason = {};  ///< why it has no place: a cell without a time
};

/// Each launch counts as one value: the geometric mean of its times of these cells, each corrected
/// by the control if all three have the same one. The commit belongs to the nearer end, if it
/// differs from the other one: p < 0.05, corrected for both, and an interval that does not reach 1.
/// @param ids the cells that became slower between the ends
Place side_of(const Rounds& good, const Rounds& commit, const Rounds& bad,
              const std::vector<std::string>& ids);

}  // namespace headroom::bisect
