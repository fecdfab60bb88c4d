// The part of attention that BLAS has no call for.
#pragma once

#include <cstdint>

namespace headroom::peers {

/// Causal softmax in place: row i, of `rows`, sees the first `first + i + 1` of its `keys` scores;
/// the others become 0. @param stride floats from one row to the next
void softmax_rows(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t first,
                  std::int64_t keys);

}  // namespace headroom::peers
