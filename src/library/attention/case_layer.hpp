// The public door takes a layer and its largest call apart; here both come from one case.
#pragma once

#include "core/case.hpp"
#include "headroom/attention.hpp"
#include "headroom/export.h"

namespace headroom {

/// As `choose_backend`; also where queries, keys and values are given. `lengths` do not count: a
/// layer has room for `tokens` of each sequence.
HEADROOM_API Choice choose_for(const Case& of, const AttentionOptions& options);

/// A layer for calls such as that of the case.
inline Attention layer_for(const Case& of, const WeightViews& weights,
                           const AttentionOptions& options = {}) {
  return {of, of, weights, options};
}

}  // namespace headroom
