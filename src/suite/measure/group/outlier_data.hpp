// Data with outlier channels, as trained models have them: the exact result stays what it was, and
// only what is rounded notices.
#pragma once

#include "measure/group/problem.hpp"

namespace headroom::measure {

/// Makes some channels of x, of earlier tokens and of a second input `Case::outliers` times as
/// large, and the rows of the matrices that they meet as many times smaller; then some channels of
/// each head's keys, and those of the queries that meet them smaller. Where keys are normed, the
/// weights of the norms do it. Given keys and queries are treated likewise. Without outliers
/// nothing changes.
/// @pre drawn data, and `plan::declines_outliers` does not decline the shape
void add_outliers(Problem& problem);

}  // namespace headroom::measure
