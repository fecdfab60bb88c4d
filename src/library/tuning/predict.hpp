// Predicts which candidate of a tuning file is fastest for a shape that is not in it.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "headroom/export.h"
#include "tuning/request.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::tuning {

/// Shapes farther away than this are not used: 4 doublings are a factor of 16 in the tokens.
inline constexpr double kFarthest = 4;

struct Prediction {
  std::optional<Candidate> best;  ///< empty: the file does not apply
  std::string why_not;            ///< why it does not apply
  Case nearest;
  double distance = 0;             ///< of the nearest, in doublings
  std::size_t shapes = 0;          ///< number of shapes used
  std::set<Precision> precisions;  ///< of the candidates among which the best was found
};

/// Takes the candidate with the least expected time relative to the fastest of the same shape. The
/// logarithm of that ratio is fitted linearly in the doublings of rows, width and heads. The fit is
/// a locally weighted regression: weights `1 / distance^4`, shapes up to twice the distance of the
/// nearest, and a penalty on the slopes. So both neighbours and their trend determine a shape
/// between two measured ones, and a measured shape depends on itself alone. A candidate must be
/// measured at the nearest shape, with the wanted number of threads, or with one if its backend is
/// not threaded; and with the very numbers that its backend would compute this layer with, so that
/// no time of a less exact one counts.
HEADROOM_API Prediction predict(const TuningFile& file, const Request& request);

}  // namespace headroom::tuning
