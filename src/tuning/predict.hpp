// Which candidate of a tuning file a shape that is not in it will run fastest with.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headroom/export.h"
#include "tuning/request.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::tuning {

/// A shape farther away than this says nothing: 4 doublings are a factor of 16 in the tokens.
inline constexpr double kFarthest = 4;

struct Prediction {
  std::optional<Candidate> best;  ///< empty: the file does not apply
  std::string why_not;            ///< then
  Shape nearest;
  double distance = 0;     ///< of the nearest, in doublings
  std::size_t shapes = 0;  ///< that were asked
};

/// Takes the candidate whose time, over the fastest one of the same shape, is expected to be the
/// least: the logarithms of the shapes around are fitted by a line in the doublings of rows, width
/// and heads (locally weighted regression: weights `1 / distance^4`, up to twice the distance of
/// the nearest, slopes held back by a penalty). So a shape between two measured ones hears both,
/// with the trend, and a shape that was measured itself hears nobody else. A candidate has to be
/// measured at the nearest shape, with the wanted number of threads or with one where its backend
/// has no more.
HEADROOM_API Prediction predict(const TuningFile& file, const Request& request);

}  // namespace headroom::tuning
