// What rounding moves within the attention weights.
#pragma once

#include <optional>

#include "core/case.hpp"
#include "reference/oracle.hpp"

namespace headroom::reference {

/// Of rows, each a query of one head.
struct AttentionShift {
  double moved = 0;       ///< share of those whose largest weight is another key's
  double divergence = 0;  ///< mean Kullback-Leibler divergence of the rounded weights, in nats
};

/// From unrounded weights to those of what is stored; the sink is one more key for the divergence.
/// Nothing where no row sees two keys, so that none can choose, and where weights are no numbers.
/// @param unrounded, stored of the same rows, with their attention weights
std::optional<AttentionShift> attention_shift(const Case& shape, const Expected& unrounded,
                                              const Expected& stored);

}  // namespace headroom::reference
