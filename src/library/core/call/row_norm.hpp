// Norms of the rows of one head, as loops that each instruction set compiles for itself. No sum
// depends on the width of a vector, so their bits do not depend on who compiled them.
#pragma once

#include <cstdint>

namespace headroom {

/// Rows that are prepared together: they stay in the L1 from one step to the next.
inline constexpr std::int64_t kRowsTogether = 8;

/// At most `kRowsTogether` rows of a head.
struct NormRows {
  float* first = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  std::int64_t width = 0;
  const float* weights = nullptr;  ///< of a row, or null
  const float* factors = nullptr;  ///< what each row is multiplied by; null: its inverse rms
  double epsilon = 0;
};

/// As `inverse_rms`.
[[gnu::always_inline]] inline float inverse_rms_of(double squares, std::int64_t count,
                                                   double epsilon) {
  return static_cast<float>(1 / __builtin_sqrt(squares / static_cast<double>(count) + epsilon));
}

/// As `sum_of_squares`.
[[gnu::always_inline]] inline double squares_of(const float* x, std::int64_t count) {
  constexpr std::int64_t kChains = 16;  // so that no sum waits for the one before
  float sums[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains <= count; i += kChains) {
    for (std::int64_t chain = 0; chain < kChains; ++chain) {
      sums[chain] += x[i + chain] * x[i + chain];
    }
  }
  double rest = 0;
  for (; i < count; ++i) rest += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double wide[kChains / 2];
  for (std::int64_t chain = 0; chain < kChains / 2; ++chain) {
    wide[chain] = static_cast<double>(sums[chain]) + static_cast<double>(sums[chain + kChains / 2]);
  }
  const double quarters[4] = {wide[0] + wide[4], wide[1] + wide[5], wide[2] + wide[6],
                              wide[3] + wide[7]};
  return rest + ((quarters[0] + quarters[2]) + (quarters[1] + quarters[3]));
}

[[gnu::always_inline]] inline void scale_row(float* __restrict row, std::int64_t width, float scale,
                                             const float* __restrict weights) {
  if (weights == nullptr) {
    for (std::int64_t i = 0; i < width; ++i) row[i] *= scale;
  } else {
    for (std::int64_t i = 0; i < width; ++i) row[i] = row[i] * scale * weights[i];
  }
}

/// All sums come before the roots, which then do not wait for each other, and the rows are still in
/// the L1 when they are multiplied.
[[gnu::always_inline]] inline void normalise_rows_of(const NormRows& rows) {
  float scales[kRowsTogether];
  for (std::int64_t r = 0; r < rows.count; ++r) {
    scales[r] = rows.factors != nullptr
                    ? rows.factors[r]
                    : inverse_rms_of(squares_of(rows.first + r * rows.stride, rows.width),
                                     rows.width, rows.epsilon);
  }
  for (std::int64_t r = 0; r < rows.count; ++r) {
    scale_row(rows.first + r * rows.stride, rows.width, scales[r], rows.weights);
  }
}

}  // namespace headroom
