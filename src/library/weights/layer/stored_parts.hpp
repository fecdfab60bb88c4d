// One attention layer in its files: which tensors, and how they lie. Nothing is read yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/layer_config.hpp"
#include "headroom/load_weights.hpp"
#include "headroom/weights.hpp"
#include "weights/tensor_set.hpp"

namespace headroom::weights {

/// Outputs `first` to `first + count - 1` of a stored matrix are one matrix of the layer; with
/// groups, those of each `stride` outputs, one group after the other.
struct MatrixPart {
  ConstAnyMatrix WeightViews::*into;
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< of a group
  std::int64_t groups = 1;
  std::int64_t stride = 0;
};

struct StoredMatrix {
  StoredTensor tensor;
  Stored stored = Stored::out_in;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::vector<MatrixPart> parts;
};

/// The same of a bias.
using BiasPart = MatrixPart;

struct StoredBias {
  StoredTensor tensor;
  std::vector<BiasPart> parts;
  bool plus_one = false;  ///< the values are added to ones
};

/// The layout of tensors that the user has named.
inline constexpr const char* kNamedLayout = "named";

/// Nothing of its values is read yet.
struct StoredLayer {
  LayerConfig config;
  std::string layout, layer;  ///< as in `LayerWeights`
  std::string family;         ///< what its model computes, by name; empty where no file says it
  std::vector<std::string> notes;  ///< as in `LayerWeights`
  std::vector<StoredMatrix> matrices;
  std::vector<StoredBias> biases;
  std::vector<double> slopes;  ///< of each head, where no file holds the values of a bias
};

/// @param dims that it must have
/// @throws FileError if it is not there, or is no such list of numbers.
StoredTensor find_values(TensorSet& set, const std::string& name, std::size_t dims);

/// @throws FileError likewise
StoredMatrix find_matrix(TensorSet& set, const std::string& name, Stored stored);

/// @throws FileError if it has not as many values as its parts need
StoredBias find_bias(TensorSet& set, const std::string& name, std::vector<BiasPart> parts);

/// @throws FileError that says what is allowed
[[noreturn]] void fail_shape(const StoredMatrix& matrix, const std::string& allowed);

}  // namespace headroom::weights
