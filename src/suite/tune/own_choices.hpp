// What layers on this machine take by themselves, before anything was measured for them.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "headroom/attention.hpp"

namespace headroom::tune {

struct OwnChoices {
  Choice f32;
  std::vector<std::pair<Precision, Choice>> others;  ///< every other precision, as it is asked for
  Choice like_f32;  ///< where none is asked for, in calls of many rows
};

/// Of the first backend that has variants of its kernels; empty if this program has none. Makes
/// small layers, because that is when a core is looked at.
std::optional<OwnChoices> own_choices();

}  // namespace headroom::tune
