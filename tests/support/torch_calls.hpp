// PyTorch's results for calls of every kind, in data/attention_calls.json, to check any attention
// against.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "support/layer_data.hpp"

namespace headroom::test {

/// A call with all that goes into it. `layer.shape` says what came before, the lengths and the
/// second input; `layer.past` and `layer.memory` hold their values.
struct TorchCall {
  std::string name;
  Layer layer;
  Matrix y;                   ///< PyTorch's float32 result, `rows() x output_width()`
  std::vector<double> exact;  ///< its float64 result from the same float32 values
};

/// For GoogleTest, which would print the bytes of the object otherwise.
inline void PrintTo(const TorchCall& call, std::ostream* out) { *out << call.name; }

std::vector<TorchCall> torch_calls();

}  // namespace headroom::test
