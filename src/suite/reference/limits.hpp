// How far a result may be from the oracle's, by what it was computed with.
#pragma once

#include "core/element/layer_numbers.hpp"

namespace headroom::reference {

inline constexpr double kNrmseLimit = 5e-6;
inline constexpr double kMaxOverRmsLimit = 5e-5;

/// Norm-wise limits for Gaussian data.
struct Limits {
  double nrmse = kNrmseLimit;
  double max_over_rms = kMaxOverRmsLimit;
};

/// Whose limits hold: those of `f32`, `bf16x3` or `bf16`. What is stored as bf16 is rounded to 8
/// bits on its way, whatever the products compute with: keys and values in the cache, and y.
inline Precision limit_class(const Numbers& numbers) {
  const bool halves = numbers.dtype == Dtype::bf16 || numbers.stored_cache() == Storage::bf16;
  return halves ? Precision::bf16 : accuracy_class(numbers.precision);
}

/// Two parts hold 16 bits and drop the product of the smaller ones, which is 10 times the error of
/// a sum of floats of these sizes. One part holds 8 bits: relative errors of up to 2^-8 each for x,
/// W, q, k, v, the weights and the context, of which some 2.5e-3 is left of the whole layer.
inline Limits limits_of(const Numbers& numbers) {
  switch (limit_class(numbers)) {
    case Precision::bf16x3:
      return {10 * kNrmseLimit, 10 * kMaxOverRmsLimit};
    case Precision::bf16:
      return {1e-2, 1e-1};
    default:
      return {};
  }
}

}  // namespace headroom::reference
