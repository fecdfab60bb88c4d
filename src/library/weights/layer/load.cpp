#include "weights/layer/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/element/read_matrix.hpp"
#include "core/text/fingerprint.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace weights {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1}
                                << 18;  // values that are converted at once, whole blocks

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

// What is kept: f64, and what comes in blocks, becomes f32.
Dtype kept_dtype(Element type) {
  switch (type) {
    case Element::bf16:
      return Dtype::bf16;
    case Element::f16:
      return Dtype::f16;
    default:
      return Dtype::f32;
  }
}

// Reads tensors piece by piece, and watches what comes.
class Reading {
 public:
  explicit Reading(bool strict) : strict_(strict) {}

  // @param into room for all values as they are kept, or null
  void read(const StoredTensor& stored, std::int64_t rows, std::int64_t cols, char* into) {
    const Tensor& tensor = stored.tensor;
    const Element type = *tensor.type;
    const std::int64_t kept = headroom::size_of(kept_dtype(type));
    const std::int64_t most = std::min(kChunk, rows * cols);
    values_.resize(static_cast<std::size_t>(most));
    const bool in_place = into != nullptr && bytes_of(type, 1) == kept;
    if (!in_place) raw_.resize(static_cast<std::size_t>(bytes_of(type, most)));
    fingerprint_.add(
        fmt::format("{} {} {};", tensor.dtype, shown_dims(tensor.dims), tensor.fortran));
    bool complained = false;
    for (std::int64_t first = 0; first < rows * cols; first += most) {
      const std::int64_t count = std::min(most, rows * cols - first);
      char* place = in_place ? into + first * kept : raw_.data();
      const std::span<char> bytes(place, static_cast<std::size_t>(bytes_of(type, count)));
      const auto values = std::span(values_).first(static_cast<std::size_t>(count));
      const std::int64_t offset = tensor.offset + bytes_of(type, first);
      stored.file->read(offset, bytes);
      fingerprint_.add({bytes.data(), bytes.size()});
      if (const auto beyond = to_floats(type, bytes, values)) {
        stored.file->fail(
            offset + bytes_of(type, static_cast<std::int64_t>(*beyond)),
            fmt::format("a value of '{}' is beyond the range of float32", shown_name(tensor.name)),
            "scale the weights");
      }
      if (!complained) complained = complain(stored, first, cols, values);
      if (into != nullptr && !in_place) {
        std::memcpy(into + first * kept, values.data(), values.size_bytes());
      }
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

/// Memory for tensors as they are read.
class Room {
 public:
  char* take(std::int64_t bytes) {
    pieces_.push_back(std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(bytes)));
    return pieces_.back().get();
  }

 private:
  std::vector<std::unique_ptr<char[]>> pieces_;
};

/// Where what is read is kept.
struct Kept {
  WeightViews& weights;
  Room& room;
};

std::int64_t kept_bytes(const StoredTensor& stored) {
  return *count_of(stored.tensor.dims) * headroom::size_of(kept_dtype(*stored.tensor.type));
}

// Copies the outputs of all groups together, where they do not lie so in the file.
ConstAnyMatrix gathered(const ConstAnyMatrix& whole, const MatrixPart& part, Room& room) {
  const std::int64_t outputs = part.groups * part.count;
  const std::int64_t size = size_of(whole.dtype);
  char* to = room.take(outputs * whole.rows * size);
  const ConstAnyMatrix all{to, whole.dtype, outputs, whole.rows, whole.rows};
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::int64_t col = i / part.count * part.stride + part.first + i % part.count;
    const ConstAnyMatrix from = whole.columns(col, 1);
    for (std::int64_t k = 0; k < whole.rows; ++k, to += size) {
      std::memcpy(to, from.row(k), static_cast<std::size_t>(size));
    }
  }
  return all.transposed();
}

ConstAnyMatrix part_of(const ConstAnyMatrix& whole, const MatrixPart& part, Room& room) {
  if (part.groups > 1) return gathered(whole, part, room);
  return whole.columns(part.first, part.count);
}

// @param kept null: nothing is
void read_matrix(const StoredMatrix& matrix, Reading& reading, Kept* kept) {
  const FileRows file = file_rows(matrix);
  char* into = kept != nullptr ? kept->room.take(kept_bytes(matrix.tensor)) : nullptr;
  reading.read(matrix.tensor, file.rows, file.cols, into);
  if (kept == nullptr) return;
  const Dtype dtype = kept_dtype(*matrix.tensor.tensor.type);
  ConstAnyMatrix whole{into, dtype, file.rows, file.cols, file.cols};
  if (file.are_outputs) whole = whole.transposed();
  for (const MatrixPart& part : matrix.parts) {
    kept->weights.*part.into = part_of(whole, part, kept->room);
  }
}

// A copy as floats, with one added to each.
ConstAnyMatrix plus_one(const ConstAnyMatrix& from, Room& room) {
  auto* to =
      reinterpret_cast<float*>(room.take(from.cols * static_cast<std::int64_t>(sizeof(float))));
  const MatrixView view{to, 1, from.cols, from.cols};
  headroom::read_matrix(from, view);
  for (std::int64_t i = 0; i < from.cols; ++i) to[i] += 1;
  return {to, Dtype::f32, 1, from.cols, from.cols};
}

void read_bias(const StoredBias& bias, Reading& reading, Kept* kept) {
  const std::int64_t count = bias.tensor.tensor.dims[0];
  char* into = kept != nullptr ? kept->room.take(kept_bytes(bias.tensor)) : nullptr;
  reading.read(bias.tensor, count, 1, into);
  if (kept == nullptr) return;
  ConstAnyMatrix all{into, kept_dtype(*bias.tensor.tensor.type), 1, count, count};
  if (bias.plus_one) all = plus_one(all, kept->room);
  for (const BiasPart& part : bias.parts) {
    kept->weights.*part.into = part_of(all, part, kept->room);
  }
}

// What no file holds.
void add_slopes(const StoredLayer& layer, const Kept& kept) {
  if (layer.slopes.empty()) return;
  const auto count = static_cast<std::int64_t>(layer.slopes.size());
  char* room = kept.room.take(count * static_cast<std::int64_t>(sizeof(float)));
  auto* slopes = reinterpret_cast<float*>(room);
  for (std::int64_t i = 0; i < count; ++i) {
    slopes[i] = static_cast<float>(layer.slopes[static_cast<std::size_t>(i)]);
  }
  kept.weights.position_bias = {slopes, Dtype::f32, 1, count, count};
}

Survey read_layer(const StoredLayer& layer, bool strict, Kept* kept) {
  Reading reading(strict);
  for (const StoredMatrix& matrix : layer.matrices) read_matrix(matrix, reading, kept);
  for (const StoredBias& bias : layer.biases) read_bias(bias, reading, kept);
  return reading.result();
}

// Biases that the shape has and the file does not.
void fill_with_zeros(const LayerConfig& config, const Kept& kept) {
  const auto fill = [&](ConstAnyMatrix& bias, std::int64_t width) {
    if (bias.rows > 0 || width == 0) return;
    const std::int64_t bytes = width * static_cast<std::int64_t>(sizeof(float));
    char* zeros = kept.room.take(bytes);
    std::memset(zeros, 0, static_cast<std::size_t>(bytes));
    bias = {zeros, Dtype::f32, 1, width, width};
  };
  fill(kept.weights.output_bias, config.d_proj);
  if (!config.qkv_bias) return;
  fill(kept.weights.query_bias, config.d_out);
  fill(kept.weights.key_bias, config.kv_width());
  fill(kept.weights.value_bias, config.kv_width());
}

}  // namespace

Survey survey(const StoredLayer& layer, bool strict) { return read_layer(layer, strict, nullptr); }

std::int64_t bytes_to_load(const StoredLayer& layer) {
  std::int64_t bytes = 12 * kChunk;  // values as they are stored, 8 bytes at most, and as floats
  for (const StoredMatrix& matrix : layer.matrices) {
    const bool gathers = !matrix.parts.empty() && matrix.parts.front().groups > 1;
    bytes += (gathers ? 2 : 1) * kept_bytes(matrix.tensor);
  }
  for (const StoredBias& bias : layer.biases) bytes += kept_bytes(bias.tensor);
  return bytes;
}

LayerWeights load(StoredLayer layer, const WeightsOptions& options) {
  const std::int64_t needed = bytes_to_load(layer);
  if (options.max_bytes > 0 && needed > options.max_bytes) {
    throw ResourceError(fmt::format(
        "the weights of {} need {} bytes of memory, but only {} may be used; allow more "
        "or use a machine with more",
        layer.config.id(), needed, options.max_bytes));
  }
  LayerWeights loaded;
  auto room = std::make_shared<Room>();
  Kept kept{loaded.weights, *room};
  Survey found = read_layer(layer, options.strict, &kept);
  fill_with_zeros(layer.config, kept);
  add_slopes(layer, kept);
  check_weights(layer.config, loaded.weights);
  loaded.tensors = std::move(room);
  loaded.config = layer.config;
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
