// The public door takes a layer and its largest call apart; here both come from one case. A layer
// has room for `tokens` of each sequence, whatever its `lengths`.
#pragma once

#include "core/case.hpp"
#include "headroom/attention.hpp"

namespace headroom {

/// As `choose_backend`.
inline Choice choose_for(const Case& of, const AttentionOptions& options) {
  return choose_backend(of, of, options);
}

/// A layer for calls such as that of the case.
inline Attention layer_for(const Case& of, const WeightViews& weights,
                           const AttentionOptions& options = {}) {
  return {of, of, weights, options};
}

}  // namespace headroom
