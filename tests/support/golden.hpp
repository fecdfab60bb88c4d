// The textbook examples in data/attention_examples.json, as layers to check any attention
// against.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "headroom/weights.hpp"

namespace headroom::test {

/// An example: what goes in, and PyTorch's float32 result.
struct GoldenLayer {
  std::string name;
  Case shape;
  SplitWeights weights;
  Matrix x;  ///< `B * T x d_in`
  Matrix y;  ///< `B * T x output_width()`
};

/// For GoogleTest, which would print the bytes of the object otherwise.
inline void PrintTo(const GoldenLayer& layer, std::ostream* out) { *out << layer.name; }

/// Every example, and for those with an output projection also the layer without it. Examples
/// that the textbook gives in another form are put as a layer: `simplified_attention`, which has
/// neither weights nor scaling, and `heads_by_hand`, which gives Q, K and V.
std::vector<GoldenLayer> golden_layers();

/// A stored tensor as a matrix: the last dimension is the columns, all others are the rows.
/// @param path inside the example, such as `"w_query"` or `"heads/0/w_key"`
Matrix golden_matrix(const std::string& example, const std::string& path);

}  // namespace headroom::test
