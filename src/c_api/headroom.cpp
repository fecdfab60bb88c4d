#include "headroom/headroom.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/nearest.hpp"
#include "headroom/attention.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"

struct headroom_attention {
  headroom::Attention layer;
  std::string reason;
};

namespace {

using headroom::InvalidArgument;

// A fixed array, so that reporting an error cannot fail.
thread_local std::array<char, 1024> error_text{};

headroom_status fail(headroom_status status, std::string_view text) noexcept {
  std::size_t length = std::min(text.size(), error_text.size() - 1);
  if (length < text.size()) {  // not in the middle of a UTF-8 character
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  }
  text.copy(error_text.data(), length);
  error_text[length] = '\0';
  return status;
}

/// Runs `work` and turns any exception into a status and a text.
template <class Work>
headroom_status guarded(const Work& work) noexcept {
  try {
    work();
    return HEADROOM_OK;
  } catch (const headroom::Unavailable& error) {
    return fail(HEADROOM_UNAVAILABLE, error.what());
  } catch (const headroom::Unsupported& error) {
    return fail(HEADROOM_UNSUPPORTED, error.what());
  } catch (const headroom::ResourceError& error) {
    return fail(HEADROOM_NO_RESOURCE, error.what());
  } catch (const std::invalid_argument& error) {
    return fail(HEADROOM_INVALID_ARGUMENT, error.what());
  } catch (const std::bad_alloc&) {
    return fail(HEADROOM_OUT_OF_MEMORY, "out of memory; make the shape smaller");
  } catch (const std::exception& error) {
    return fail(HEADROOM_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(HEADROOM_INTERNAL_ERROR, "a library behind the backend threw an unknown exception");
  }
}

template <class Pointer>
void require(Pointer pointer, std::string_view function, std::string_view name) {
  if (pointer != nullptr) return;
  throw InvalidArgument(fmt::format("{}: {} is NULL; give it a valid address", function, name));
}

// The sizes of the structs in the first version that had sizes; no struct was ever smaller.
constexpr std::size_t kFirstShape = offsetof(headroom_shape, dropout_seed) + sizeof(uint64_t);
constexpr std::size_t kFirstWeights = offsetof(headroom_weights, output_bias) + sizeof(float*);
constexpr std::size_t kFirstOptions = offsetof(headroom_options, threads) + sizeof(int32_t);
// Far larger than any struct: a size above it was never initialised.
constexpr std::size_t kLargestStruct = 4096;

/// Writes the defaults, as far as the caller's struct goes.
template <class Struct>
void write_defaults(Struct* to, std::size_t size, Struct defaults) {
  if (to == nullptr || size < sizeof defaults.size) return;
  defaults.size = size;
  const std::size_t known = std::min(size, sizeof(Struct));
  std::memcpy(static_cast<void*>(to), &defaults, known);
  std::memset(reinterpret_cast<char*>(to) + known, 0, size - known);
}

/// The defaults, overwritten by the caller's struct as far as it goes. `first` is its least size.
template <class Struct>
Struct read_struct(const Struct& given, Struct defaults, std::size_t first, std::string_view name) {
  const std::size_t size = given.size;
  if (size < first || size > kLargestStruct) {
    throw InvalidArgument(fmt::format(
        "headroom_create: {0}.size is {1}; allowed is {2}, or what the program's own header says; "
        "begin with headroom_default_{0}",
        name, size, sizeof(Struct)));
  }
  const char* bytes = reinterpret_cast<const char*>(&given);
  if (size > sizeof(Struct) &&
      std::any_of(bytes + sizeof(Struct), bytes + size, [](char byte) { return byte != 0; })) {
    throw InvalidArgument(fmt::format(
        "headroom_create: {}.size is {}, and fields beyond the {} bytes that version {} knows are "
        "set; leave them zero, or use a newer library",
        name, size, sizeof(Struct), HEADROOM_VERSION));
  }
  std::memcpy(&defaults, bytes, std::min(size, sizeof(Struct)));
  return defaults;
}

headroom_shape default_shape() {
  headroom_shape shape{};
  shape.batch = 1;
  shape.heads = 1;
  shape.causal = 1;
  return shape;
}

headroom_options default_options() {
  headroom_options options{};
  options.size = sizeof options;
  options.backend = headroom::kDefaultBackend.data();
  return options;
}

headroom::Shape shape_of(const headroom_shape& shape) {
  return {.batch = shape.batch,
          .tokens = shape.tokens,
          .d_in = shape.d_in,
          .d_out = shape.d_out,
          .heads = shape.heads,
          .causal = shape.causal != 0,
          .qkv_bias = shape.qkv_bias != 0,
          .d_proj = shape.d_proj,
          .dropout = shape.dropout,
          .dropout_seed = shape.dropout_seed};
}

headroom::AttentionOptions options_of(const headroom_options& given) {
  headroom::AttentionOptions options;
  if (given.backend != nullptr) options.backend = given.backend;
  if (given.formulation != nullptr) {
    const auto formulation = headroom::parse_formulation(given.formulation);
    if (!formulation) {
      throw InvalidArgument(
          fmt::format("headroom_create: unknown formulation '{}'; {}", given.formulation,
                      headroom::suggest(given.formulation, {"wrapper", "split", "fused"})));
    }
    options.formulation = *formulation;
  }
  if (given.isa != nullptr) {
    options.isa = headroom::parse_isa(given.isa);
    if (!options.isa) {
      throw InvalidArgument(
          fmt::format("headroom_create: unknown instruction set '{}'; {}", given.isa,
                      headroom::suggest(given.isa, {"sse4.2", "avx2", "avx512", "neon"})));
    }
  }
  if (given.tuning_file != nullptr) options.tuning_file = given.tuning_file;
  options.threads = given.threads;
  return options;
}

/// Checks that a weight is given exactly where this shape needs its `rows x cols` values.
std::vector<float> copy(const float* values, std::string_view name, std::int64_t rows,
                        std::int64_t cols) {
  const std::int64_t count = rows * cols;
  if (count > 0 && values == nullptr) {
    throw InvalidArgument(fmt::format(
        "headroom_create: weights.{} is NULL; this shape needs {} x {} values", name, rows, cols));
  }
  if (count == 0 && values != nullptr) {
    throw InvalidArgument(fmt::format(
        "headroom_create: weights.{} is given, but this shape has no such part; pass NULL", name));
  }
  return {values, values + count};
}

headroom::Matrix copy_matrix(const float* values, std::string_view name, std::int64_t rows,
                             std::int64_t cols) {
  headroom::Matrix matrix;
  matrix.values = copy(values, name, rows, cols);
  if (!matrix.values.empty()) {
    matrix.rows = rows;
    matrix.cols = cols;
  }
  return matrix;
}

/// @pre the shape is valid.
headroom::SplitWeights weights_of(const headroom_weights& given, const headroom::Shape& shape) {
  const std::int64_t bias = shape.qkv_bias ? shape.d_out : 0;
  headroom::SplitWeights weights;
  weights.query = copy_matrix(given.query, "query", shape.d_in, shape.d_out);
  weights.key = copy_matrix(given.key, "key", shape.d_in, shape.d_out);
  weights.value = copy_matrix(given.value, "value", shape.d_in, shape.d_out);
  weights.query_bias = copy(given.query_bias, "query_bias", 1, bias);
  weights.key_bias = copy(given.key_bias, "key_bias", 1, bias);
  weights.value_bias = copy(given.value_bias, "value_bias", 1, bias);
  weights.output = copy_matrix(given.output, "output", shape.d_out, shape.d_proj);
  weights.output_bias = copy(given.output_bias, "output_bias", 1, shape.d_proj);
  return weights;
}

}  // namespace

void headroom_init_shape(headroom_shape* shape, std::size_t size) {
  write_defaults(shape, size, default_shape());
}

void headroom_init_weights(headroom_weights* weights, std::size_t size) {
  write_defaults(weights, size, {});
}

void headroom_init_options(headroom_options* options, std::size_t size) {
  write_defaults(options, size, default_options());
}

headroom_status headroom_create(const headroom_shape* shape, const headroom_weights* weights,
                                const headroom_options* options, headroom_attention** layer) {
  if (layer != nullptr) *layer = nullptr;
  return guarded([&] {
    require(shape, "headroom_create", "shape");
    require(weights, "headroom_create", "weights");
    require(layer, "headroom_create", "layer");
    const headroom::Shape checked =
        shape_of(read_struct(*shape, default_shape(), kFirstShape, "shape"));
    checked.validate();
    const headroom::AttentionOptions chosen = options_of(
        options == nullptr ? default_options()
                           : read_struct(*options, default_options(), kFirstOptions, "options"));
    const headroom_weights given = read_struct(*weights, {}, kFirstWeights, "weights");
    // Checked before the weights are copied, which may take long.
    if (chosen.backend != headroom::kAuto) headroom::find_backend(chosen.backend);
    headroom::Attention made(checked, weights_of(given, checked), chosen);
    std::string reason = made.choice().reason;
    if (!made.choice().warning.empty()) reason += "; " + made.choice().warning;
    *layer = new headroom_attention{std::move(made), std::move(reason)};
  });
}

headroom_status headroom_forward(headroom_attention* layer, const float* x, int64_t x_stride,
                                 float* y, int64_t y_stride) {
  return guarded([&] {
    require(layer, "headroom_forward", "layer");
    const headroom::Shape& shape = layer->layer.shape();
    layer->layer.forward({x, shape.rows(), shape.d_in, x_stride},
                         {y, shape.rows(), shape.output_width(), y_stride});
  });
}

const char* headroom_chosen_backend(const headroom_attention* layer) {
  return layer == nullptr ? nullptr : layer->layer.options().backend.c_str();
}

const char* headroom_choice_reason(const headroom_attention* layer) {
  return layer == nullptr ? nullptr : layer->reason.c_str();
}

void headroom_destroy(headroom_attention* layer) { delete layer; }

const char* headroom_error_text(void) { return error_text.data(); }

const char* headroom_status_name(headroom_status status) {
  switch (status) {
    case HEADROOM_OK:
      return "HEADROOM_OK";
    case HEADROOM_INVALID_ARGUMENT:
      return "HEADROOM_INVALID_ARGUMENT";
    case HEADROOM_UNAVAILABLE:
      return "HEADROOM_UNAVAILABLE";
    case HEADROOM_UNSUPPORTED:
      return "HEADROOM_UNSUPPORTED";
    case HEADROOM_OUT_OF_MEMORY:
      return "HEADROOM_OUT_OF_MEMORY";
    case HEADROOM_INTERNAL_ERROR:
      return "HEADROOM_INTERNAL_ERROR";
    case HEADROOM_NO_RESOURCE:
      return "HEADROOM_NO_RESOURCE";
  }
  return "unknown status";
}

const char* headroom_version(void) { return HEADROOM_VERSION; }
