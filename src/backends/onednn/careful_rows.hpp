// Rows that contain or see NaN or Inf. The library's softmax and masked products may drop or spread
// a NaN, so these rare rows are computed by plain loops that skip what is masked.
#pragma once

#include <cstdint>

namespace headroom::onednn {

/// Copies `rows x cols` values into dense rows, times `scale`. Rows that hold NaN or Inf become
/// zeros, so that they cannot reach other rows; `report(row)` is called for each.
template <class Report>
void pack_finite_rows(const float* source, std::int64_t stride, std::int64_t rows,
                      std::int64_t cols, float scale, float* packed, const Report& report);

/// True if no value is NaN or Inf.
bool all_finite(const float* values, std::int64_t count);

/// Attention weights of one query over dense keys: `softmax(q k^T * scale)`.
void careful_weights(const float* query, const float* keys, std::int64_t count,
                     std::int64_t head_dim, float scale, float* weights);

/// `out = weights V` for one row, over dense values.
void careful_values(const float* values, std::int64_t count, std::int64_t head_dim,
                    const float* weights, float* out);

template <class Report>
void pack_finite_rows(const float* source, std::int64_t stride, std::int64_t rows,
                      std::int64_t cols, float scale, float* packed, const Report& report) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = source + r * stride;
    float* to = packed + r * cols;
    for (std::int64_t c = 0; c < cols; ++c) to[c] = from[c] * scale;
  }
  // All rows at once, because they are nearly always finite.
  if (all_finite(packed, rows * cols)) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    float* to = packed + r * cols;
    if (all_finite(to, cols)) continue;
    for (std::int64_t c = 0; c < cols; ++c) to[c] = 0.0f;
    report(r);
  }
}

}  // namespace headroom::onednn
