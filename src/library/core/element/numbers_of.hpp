// The numbers that options ask for.
#pragma once

#include "core/element/layer_numbers.hpp"
#include "headroom/attention.hpp"

namespace headroom {

/// @param precision what products compute with, as asked for or as chosen
inline Numbers numbers_of(const AttentionOptions& options, Precision precision) {
  Numbers numbers{precision, options.dtype, options.weights_dtype, options.cache_dtype};
  if (numbers.stored_weights() == storage_of(options.dtype)) numbers.weights.reset();
  if (numbers.stored_cache() == storage_of(options.dtype)) numbers.cache.reset();
  return numbers;
}
/// Of options that leave the precision to the library: in f32, whose error limits all choices have.
inline Numbers numbers_of(const AttentionOptions& options) {
  return numbers_of(options, options.precision.value_or(Precision::f32));
}

}  // namespace headroom
