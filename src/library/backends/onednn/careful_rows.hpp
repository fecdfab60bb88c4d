// Rows that contain or see NaN or Inf. The library's softmax and masked products may drop or spread
// a NaN, so these rare rows are computed by plain loops that skip what is masked.
#pragma once

#include <cstdint>

#include "core/element/convert.hpp"

namespace headroom::onednn {

/// Copies `rows x cols` values into dense rows of float or Bf16, times `scale`. Rows that hold NaN
/// or Inf, or what rounding makes Inf, become zeros, so that they cannot reach other rows;
/// `report(row)` is called for each.
template <class T, class Report>
void pack_finite_rows(const float* source, std::int64_t stride, std::int64_t rows,
                      std::int64_t cols, float scale, T* packed, const Report& report);

/// True if no value is NaN or Inf.
bool all_finite(const float* values, std::int64_t count);
bool all_finite(const Bf16* values, std::int64_t count);

/// Scores of one query over dense keys: `q k^T * scale`.
void careful_scores(const float* query, const float* keys, std::int64_t count,
                    std::int64_t head_dim, float scale, float* scores);

/// `cap * tanh(score / cap)`, in their place.
void cap_scores(float cap, std::int64_t count, float* scores);

/// Attention weights of them, in their place.
/// @param sink one more logit of the sum; may be null
void careful_softmax(float* scores, std::int64_t count, const float* sink);

/// `out = weights V` for one row, over dense values.
void careful_values(const float* values, std::int64_t count, std::int64_t value_dim,
                    const float* weights, float* out);

inline void store(float value, float& to) { to = value; }
inline void store(float value, Bf16& to) { to = round_to_bf16(value); }

template <class T, class Report>
void pack_finite_rows(const float* source, std::int64_t stride, std::int64_t rows,
                      std::int64_t cols, float scale, T* packed, const Report& report) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = source + r * stride;
    T* to = packed + r * cols;
    for (std::int64_t c = 0; c < cols; ++c) store(from[c] * scale, to[c]);
  }
  // All rows at once, because they are nearly always finite.
  if (all_finite(packed, rows * cols)) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    T* to = packed + r * cols;
    if (all_finite(to, cols)) continue;
    for (std::int64_t c = 0; c < cols; ++c) to[c] = T{};
    report(r);
  }
}

}  // namespace headroom::onednn
