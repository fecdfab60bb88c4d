#include "weights/layer/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/text/fingerprint.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace weights {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 18;  // values that are converted at once

// Rows of a matrix as they follow each other in the file, and the values of each.
struct FileRows {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool are_outputs = false;
};

FileRows file_rows(const StoredMatrix& matrix) {
  const std::vector<std::int64_t>& dims = matrix.tensor.tensor.dims;
  const bool fortran = matrix.tensor.tensor.fortran;
  return {dims[fortran ? 1 : 0], dims[fortran ? 0 : 1],
          (matrix.stored == Stored::out_in) != fortran};
}

// Reads tensors piece by piece, and watches what comes.
class Reading {
 public:
  explicit Reading(bool strict) : strict_(strict) {}

  // Gives `take` the rows from `first` on, a few at a time.
  template <class Take>
  void read(const StoredTensor& stored, std::int64_t rows, std::int64_t cols, Take take) {
    const Tensor& tensor = stored.tensor;
    const auto size = static_cast<std::int64_t>(tensor.bytes / (rows * cols));
    const std::int64_t most = std::clamp<std::int64_t>(kChunk / cols, 1, rows);
    raw_.resize(static_cast<std::size_t>(most * cols * size));
    values_.resize(static_cast<std::size_t>(most * cols));
    fingerprint_.add(
        fmt::format("{} {} {};", tensor.dtype, shown_dims(tensor.dims), tensor.fortran));
    bool complained = false;
    for (std::int64_t first = 0; first < rows; first += most) {
      const std::int64_t count = std::min(most, rows - first);
      const auto bytes = std::span(raw_).first(static_cast<std::size_t>(count * cols * size));
      const auto values = std::span(values_).first(static_cast<std::size_t>(count * cols));
      const std::int64_t offset = tensor.offset + first * cols * size;
      stored.file->read(offset, bytes);
      fingerprint_.add({bytes.data(), bytes.size()});
      if (const auto beyond = to_floats(*tensor.type, bytes, values)) {
        stored.file->fail(
            offset + static_cast<std::int64_t>(*beyond) * size,
            fmt::format("a value of '{}' is beyond the range of float32", shown_name(tensor.name)),
            "scale the weights");
      }
      if (!complained) complained = complain(stored, first * cols, cols, values);
      take(first, count, values);
    }
  }

  Survey result() { return {std::move(warnings_), fingerprint_.text()}; }

 private:
  // The place in the file's order, which is row and column but for Fortran order.
  bool complain(const StoredTensor& stored, std::int64_t before, std::int64_t cols,
                std::span<const float> values) {
    const auto place =
        std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    if (place == values.end()) return false;
    const std::int64_t index = before + (place - values.begin());
    std::vector<std::int64_t> at{index / cols, index % cols};
    if (stored.tensor.dims.size() == 1) at = {index};
    if (stored.tensor.fortran) std::reverse(at.begin(), at.end());
    const std::string what = fmt::format("the value at {} is {}", shown_dims(at),
                                         std::isnan(*place) ? "NaN" : "infinite");
    if (strict_) stored.fail(what, "--strict refuses it; leave it out to go on");
    warnings_.push_back(fmt::format("{}: tensor '{}': {}", shown_path(stored.file->path()),
                                    shown_name(stored.tensor.name), what));
    return true;
  }

  bool strict_;
  Fingerprint fingerprint_;
  std::vector<std::string> warnings_;
  std::vector<char> raw_;
  std::vector<float> values_;
};

// The columns of a part, from rows that are inputs.
void keep_inputs(const MatrixPart& part, std::int64_t first, std::int64_t count, std::int64_t cols,
                 std::span<const float> values, Matrix& into) {
  for (std::int64_t r = 0; r < count; ++r) {
    std::copy_n(values.data() + r * cols + part.first, part.count, into.view().row(first + r));
  }
}

// Likewise from rows that are outputs: a transpose, whose rows are written a few values at a time.
void keep_outputs(const MatrixPart& part, std::int64_t first, std::int64_t count, std::int64_t cols,
                  std::span<const float> values, Matrix& into) {
  const std::int64_t begin = std::max(first, part.first);
  const std::int64_t end = std::min(first + count, part.first + part.count);
  for (std::int64_t input = 0; input < cols; ++input) {
    float* row = into.view().row(input);
    for (std::int64_t output = begin; output < end; ++output) {
      row[output - part.first] = values[static_cast<std::size_t>((output - first) * cols + input)];
    }
  }
}

// @param into may be null
void read_matrix(const StoredMatrix& matrix, Reading& reading, SplitWeights* into) {
  const FileRows file = file_rows(matrix);
  if (into != nullptr) {
    for (const MatrixPart& part : matrix.parts) {
      into->*part.into = Matrix(matrix.inputs, part.count);
    }
  }
  reading.read(matrix.tensor, file.rows, file.cols,
               [&](std::int64_t first, std::int64_t count, std::span<const float> values) {
                 if (into == nullptr) return;
                 const auto keep = file.are_outputs ? keep_outputs : keep_inputs;
                 for (const MatrixPart& part : matrix.parts) {
                   keep(part, first, count, file.cols, values, into->*part.into);
                 }
               });
}

void read_bias(const StoredBias& bias, Reading& reading, SplitWeights* into) {
  const std::int64_t count = bias.tensor.tensor.dims[0];
  std::vector<float> all;
  reading.read(bias.tensor, count, 1,
               [&](std::int64_t, std::int64_t, std::span<const float> values) {
                 all.insert(all.end(), values.begin(), values.end());
               });
  if (into == nullptr) return;
  for (const BiasPart& part : bias.parts) {
    (into->*part.into).assign(all.begin() + part.first, all.begin() + part.first + part.count);
  }
}

Survey read_layer(const StoredLayer& layer, bool strict, SplitWeights* into) {
  Reading reading(strict);
  for (const StoredMatrix& matrix : layer.matrices) read_matrix(matrix, reading, into);
  for (const StoredBias& bias : layer.biases) read_bias(bias, reading, into);
  return reading.result();
}

// Biases that the shape has and the file does not.
void fill_with_zeros(const Shape& shape, SplitWeights& weights) {
  const auto fill = [](std::vector<float>& bias, std::int64_t width) {
    if (bias.empty()) bias.resize(static_cast<std::size_t>(width));
  };
  fill(weights.output_bias, shape.d_proj);
  if (!shape.qkv_bias) return;
  fill(weights.query_bias, shape.d_out);
  fill(weights.key_bias, shape.kv_width());
  fill(weights.value_bias, shape.kv_width());
}

}  // namespace

Survey survey(const StoredLayer& layer, bool strict) { return read_layer(layer, strict, nullptr); }

std::int64_t bytes_to_load(const StoredLayer& layer) {
  std::int64_t row = 0;
  for (const StoredMatrix& matrix : layer.matrices) row = std::max(row, file_rows(matrix).cols);
  // Values as they are stored, 8 bytes at most, and as floats.
  return layer.shape.bytes().weights + 12 * std::max(kChunk, row);
}

LayerWeights load(StoredLayer layer, const WeightsOptions& options) {
  const std::int64_t needed = bytes_to_load(layer);
  if (options.max_bytes > 0 && needed > options.max_bytes) {
    throw ResourceError(fmt::format(
        "the weights of {} need {} bytes of memory, but only {} may be used; allow more "
        "or use a machine with more",
        layer.shape.id(), needed, options.max_bytes));
  }
  LayerWeights loaded;
  Survey found = read_layer(layer, options.strict, &loaded.weights);
  fill_with_zeros(layer.shape, loaded.weights);
  check_weights(layer.shape, loaded.weights);
  loaded.shape = layer.shape;
  loaded.layout = std::move(layer.layout);
  loaded.layer = std::move(layer.layer);
  loaded.notes = std::move(layer.notes);
  loaded.warnings = std::move(found.warnings);
  loaded.fingerprint = std::move(found.fingerprint);
  return loaded;
}

}  // namespace weights

LayerWeights load_weights(const std::filesystem::path& path, const WeightsOptions& options) {
  weights::TensorSet set(path);
  return weights::load(weights::find_stored_layer(set, options), options);
}

}  // namespace headroom
