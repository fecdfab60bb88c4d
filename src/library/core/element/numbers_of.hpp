// The numbers that options ask for.
#pragma once

#include "core/element/layer_numbers.hpp"
#include "headroom/attention.hpp"

namespace headroom {

/// @param precision what products compute with, as asked for or as chosen
inline Numbers numbers_of(const AttentionOptions& options, Precision precision) {
  Numbers numbers{precision, options.dtype, options.weights_dtype};
  if (numbers.stored_weights() == storage_of(options.dtype)) numbers.weights.reset();
  return numbers;
}
inline Numbers numbers_of(const AttentionOptions& options) {
  return numbers_of(options, options.precision);
}

}  // namespace headroom
