// How far a result may be from the oracle's, by what it was computed with.
#pragma once

#include <cstdint>

#include "core/case.hpp"
#include "core/element/few_bits.hpp"
#include "core/element/layer_numbers.hpp"

namespace headroom::reference {

inline constexpr double kNrmseLimit = 5e-6;
inline constexpr double kMaxOverRmsLimit = 5e-5;

/// Norm-wise limits for Gaussian data.
struct Limits {
  double nrmse = kNrmseLimit;
  double max_over_rms = kMaxOverRmsLimit;
};

/// Whose limits hold: those of `f32`, `bf16x3`, `bf16` or `int8`. What is stored as bf16 is rounded
/// to 8 bits on its way, whatever the products compute with: keys and values in the cache, and y.
inline Precision limit_class(const Numbers& numbers) {
  if (numbers.precision == Precision::int8) return Precision::int8;
  const bool halves = numbers.dtype == Dtype::bf16 || numbers.stored_cache() == Storage::bf16;
  return halves ? Precision::bf16 : accuracy_class(numbers.precision);
}

/// Two parts hold 16 bits and drop the product of the smaller ones, which is 10 times the error of
/// a sum of floats of these sizes. One part holds 8 bits: relative errors of up to 2^-8 each for x,
/// W, q, k, v, the weights and the context, of which some 2.5e-3 is left of the whole layer. Rows
/// that are rounded to bytes are off by up to a 254th of the largest of their group: of 1,000
/// random layers with weights of q8 and q4 (tests/fit_bound, 2026-11-27) those that are
/// `averages_bytes` had errors of up to 1.05e-2 and 1.48e-1, and the limits are twice that.
inline Limits limits_of(const Numbers& numbers) {
  switch (limit_class(numbers)) {
    case Precision::bf16x3:
      return {10 * kNrmseLimit, 10 * kMaxOverRmsLimit};
    case Precision::bf16:
      return {1e-2, 1e-1};
    case Precision::int8:
      return {2.1e-2, 3e-1};
    default:
      return {};
  }
}

/// Whether a layer has so many roundings of rows to bytes that its errors are those of `limits_of`:
/// a norm over few elements may be that of one that cancelled, and rows narrower than a group are
/// rounded by their largest value alone.
inline bool averages_bytes(const Case& shape) {
  constexpr std::int64_t kMany = 1000;
  return shape.d_in >= kGroup && shape.context_width() >= kGroup &&
         shape.rows() * shape.output_width() >= kMany;
}

}  // namespace headroom::reference
