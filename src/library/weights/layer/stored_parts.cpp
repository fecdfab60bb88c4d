#include "weights/layer/stored_parts.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/text/shown.hpp"
#include "weights/layer/naming.hpp"

namespace headroom::weights {

StoredTensor find_values(TensorSet& set, const std::string& name, std::size_t dims) {
  if (!set.has(name)) fail_missing(set, name);
  StoredTensor tensor = set.find(name);
  if (!tensor.tensor.type) {
    tensor.fail(
        fmt::format(
            "its values are {}; allowed are F32, F16, BF16 and F64, and of a GGUF file Q8_0, "
            "Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K",
            tensor.tensor.dtype),
        "name another tensor, or convert it");
  }
  if (tensor.tensor.dims.size() != dims || count_of(tensor.tensor.dims) == 0) {
    tensor.fail(fmt::format("its shape is {}", shown_dims(tensor.tensor.dims)),
                dims == 2 ? "a matrix is expected" : "a bias, a list of numbers, is expected");
  }
  return tensor;
}

StoredMatrix find_matrix(TensorSet& set, const std::string& name, Stored stored) {
  StoredMatrix matrix{find_values(set, name, 2), stored, 0, 0, {}};
  const std::vector<std::int64_t>& dims = matrix.tensor.tensor.dims;
  const bool rows_are_outputs = stored == Stored::out_in;
  matrix.outputs = dims[rows_are_outputs ? 0 : 1];
  matrix.inputs = dims[rows_are_outputs ? 1 : 0];
  return matrix;
}

void fail_shape(const StoredMatrix& matrix, const std::string& allowed) {
  matrix.tensor.fail(
      fmt::format("its shape {} means {} inputs and {} outputs; {}",
                  shown_dims(matrix.tensor.tensor.dims), matrix.inputs, matrix.outputs, allowed),
      "if it is stored the other way, give --stored");
}

StoredBias find_bias(TensorSet& set, const std::string& name, std::vector<BiasPart> parts) {
  StoredBias bias{find_values(set, name, 1), std::move(parts)};
  const MatrixPart& last = bias.parts.back();
  const std::int64_t wanted = (last.groups - 1) * last.stride + last.first + last.count;
  if (bias.tensor.tensor.dims[0] != wanted) {
    bias.tensor.fail(fmt::format("it has {} values", bias.tensor.tensor.dims[0]),
                     fmt::format("its matrix needs {}", wanted));
  }
  return bias;
}

}  // namespace headroom::weights
