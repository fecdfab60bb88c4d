#include "headroom/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/addresses.hpp"
#include "core/element/read_matrix.hpp"
#include "core/weights/matrix_parts.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

struct Size {
  std::int64_t rows;
  std::int64_t cols;
};

// The matrix is one without gaps. @throws InvalidArgument naming it
ConstAnyMatrix whole(const std::string& name, const Matrix& matrix) {
  if (matrix.values.size() != index(matrix.rows * matrix.cols)) {
    throw InvalidArgument(fmt::format("weights: {} is {} x {} but holds {} values instead of {}",
                                      name, matrix.rows, matrix.cols, matrix.values.size(),
                                      matrix.rows * matrix.cols));
  }
  return matrix.view();
}

ConstAnyMatrix one_row(const std::vector<float>& bias) {
  if (bias.empty()) return {};
  const auto size = static_cast<std::int64_t>(bias.size());
  return {bias.data(), 1, size, size};
}

// @pre its size is right.
void check_place(const std::string& name, const ConstAnyMatrix& matrix) {
  if (matrix.rows == 0 || matrix.cols == 0) return;
  if (matrix.data == nullptr) {
    throw InvalidArgument(fmt::format("weights: {} is a null pointer; pass {} x {} values", name,
                                      matrix.rows, matrix.cols));
  }
  constexpr std::int64_t kMost = kMostAddresses / std::int64_t{sizeof(float)};
  const auto fits = [](std::int64_t count, std::int64_t stride) {
    return count == 1 || (stride >= -kMost / count && stride <= kMost / count);
  };
  if (fits(matrix.rows, matrix.row_stride) && fits(matrix.cols, matrix.col_stride)) return;
  throw InvalidArgument(
      fmt::format("weights: {} has strides {} and {}; they count values, and its {} x {} values "
                  "must lie within "
                  "the 2^56 bytes that memory can have",
                  name, matrix.row_stride, matrix.col_stride, matrix.rows, matrix.cols));
}

void check_matrix(const LayerConfig& config, const std::string& name, const ConstAnyMatrix& matrix,
                  Size allowed, std::string_view meaning) {
  if (matrix.rows != allowed.rows || matrix.cols != allowed.cols) {
    throw InvalidArgument(fmt::format("weights: {} is {} x {}; shape {} needs {} x {} ({})", name,
                                      matrix.rows, matrix.cols, config.id(), allowed.rows,
                                      allowed.cols, meaning));
  }
  check_place(name, matrix);
}

void check_bias(const LayerConfig& config, const std::string& name, const ConstAnyMatrix& bias,
                std::int64_t allowed, std::string_view meaning) {
  const bool none = bias.rows == 0 || bias.cols == 0;
  const std::int64_t count = none ? 0 : bias.rows * bias.cols;
  if (count != allowed || (!none && bias.rows != 1)) {
    throw InvalidArgument(fmt::format("weights: {} has {} values; shape {} needs {} ({})", name,
                                      none || bias.rows == 1
                                          ? fmt::to_string(count)
                                          : fmt::format("{} x {}", bias.rows, bias.cols),
                                      config.id(), allowed, meaning));
  }
  check_place(name, bias);
}

// What query, key or value must be, and what its columns are called.
struct Needed {
  Size size;
  std::string_view rows_name;
  std::string_view cols_name;
};

void check_projection(const LayerConfig& config, const std::string& name,
                      const ConstAnyMatrix& matrix, const ConstAnyMatrix& bias,
                      const Needed& needed) {
  check_matrix(config, name, matrix, needed.size,
               fmt::format("{} x {}", needed.rows_name, needed.cols_name));
  check_bias(config, name + "_bias", bias, config.qkv_bias ? needed.size.cols : 0,
             config.qkv_bias ? needed.cols_name : "qkv_bias is off, so leave it empty");
}

void require_layer(const LayerConfig& config) {
  if (config.d_in != 0) return config.validate();
  throw InvalidArgument(
      "weights: d_in is 0; set the width of the input, or use DotProductAttention for "
      "attention over queries, keys and values of your own");
}

std::string_view key_input_name(const LayerConfig& config) {
  return config.d_memory > 0 ? "d_memory" : "d_in";
}

// What the width of a row of all heads' results is called.
std::string_view context_name(const LayerConfig& config) {
  return config.value_dim > 0 ? "heads * value_dim" : "d_out";
}

void check_output(const LayerConfig& config, const ConstAnyMatrix& output,
                  const ConstAnyMatrix& bias) {
  const bool used = config.d_proj > 0;
  const std::string_view unused = "there is no output projection, so leave it empty";
  const std::string meaning = fmt::format("{} x d_proj", context_name(config));
  check_matrix(config, "output", output, {used ? config.context_width() : 0, config.d_proj},
               used ? std::string_view(meaning) : unused);
  check_bias(config, "output_bias", bias, config.d_proj, used ? "d_proj" : unused);
}

void check_norm_weights(const LayerConfig& config, const ConstAnyMatrix& query,
                        const ConstAnyMatrix& key) {
  const bool used = config.query_norm_width() > 0;
  const bool wide = config.norm.over == QueryKeyNorm::Over::width;
  const std::string_view meaning = !used  ? "there is no weighted norm, so leave it empty"
                                   : wide ? "over the width"
                                          : "head_dim";
  check_bias(config, "query_norm", query, config.query_norm_width(), meaning);
  check_bias(config, "key_norm", key, config.key_norm_width(), meaning);
}

void check_sinks(const LayerConfig& config, const ConstAnyMatrix& sinks) {
  check_bias(config, "sinks", sinks, config.sinks ? config.heads : 0,
             config.sinks ? "heads" : "there are no sinks, so leave it empty");
}

void check_gate(const LayerConfig& config, const ConstAnyMatrix& gate) {
  const std::string meaning = fmt::format("d_in x {}", context_name(config));
  check_matrix(config, "gate", gate,
               config.gate ? Size{config.d_in, config.context_width()} : Size{0, 0},
               config.gate ? std::string_view(meaning) : "there is no gate, so leave it empty");
}

void check_position_bias(const LayerConfig& config, const ConstAnyMatrix& values) {
  const std::int64_t rows = config.position_bias_rows();
  const bool slopes = config.position_bias.kind == PositionBias::Kind::slopes;
  check_matrix(config, "position_bias", values, {rows, rows > 0 ? config.heads : 0},
               rows == 0 ? "there is no such bias, so leave it empty"
               : slopes  ? "1 x heads"
                         : "buckets x heads");
}

// What the rows of the matrices behind a latent are called.
std::string_view query_depth_name(const LayerConfig& config) {
  return config.latent.query_rank > 0 ? "latent query_rank" : "d_in";
}

std::string_view key_depth_name(const LayerConfig& config) {
  return config.is_latent() ? "latent rank" : key_input_name(config);
}

void check_latent(const LayerConfig& config, const ConstAnyMatrix& query_down,
                  const ConstAnyMatrix& query_norm, const ConstAnyMatrix& key_down,
                  const ConstAnyMatrix& key_norm) {
  const auto check = [&](const std::string& name, const ConstAnyMatrix& down,
                         const ConstAnyMatrix& norm, std::int64_t width, std::int64_t normed) {
    const std::string_view unused = "there is no such latent, so leave it empty";
    check_matrix(config, name, down, width > 0 ? Size{config.d_in, width} : Size{0, 0},
                 width > 0 ? "d_in x width of the latent" : unused);
    check_bias(config, name + "_norm", norm, normed,
               width > 0 ? "the width of the latent" : unused);
  };
  const Latent& latent = config.latent;
  check("query_down", query_down, query_norm, latent.query_rank, latent.query_rank);
  check("key_down", key_down, key_norm, latent.rank > 0 ? config.latent_width() : 0, latent.rank);
}

void check_weights(const LayerConfig& config, const PerHeadWeights& weights) {
  require_layer(config);
  if (weights.heads.size() != index(config.heads)) {
    throw InvalidArgument(fmt::format("weights: there are {} heads; shape {} needs {}",
                                      weights.heads.size(), config.id(), config.heads));
  }
  const Needed query{
      {config.query_depth(), config.head_dim()}, query_depth_name(config), "head_dim"};
  const Needed key{{config.key_depth(), config.own_key_dim()},
                   key_depth_name(config),
                   config.is_latent() ? "head_dim - latent shared" : "head_dim"};
  const Needed value{{config.key_depth(), config.head_value_dim()},
                     key_depth_name(config),
                     config.value_dim > 0 ? "value_dim" : "head_dim"};
  for (std::size_t h = 0; h < weights.heads.size(); ++h) {
    const HeadWeights& head = weights.heads[h];
    const auto check = [&](const std::string& name, const Matrix& matrix,
                           const std::vector<float>& bias, const Needed& needed) {
      const std::string full = fmt::format("head {} {}", h, name);
      check_projection(config, full, whole(full, matrix), one_row(bias), needed);
    };
    check("query", head.query, head.query_bias, query);
    check("key", head.key, head.key_bias, key);
    check("value", head.value, head.value_bias, value);
  }
  check_output(config, whole("output", weights.output), one_row(weights.output_bias));
  check_norm_weights(config, one_row(weights.query_norm), one_row(weights.key_norm));
  check_sinks(config, one_row(weights.sinks));
  check_gate(config, whole("gate", weights.gate));
  check_position_bias(config, whole("position_bias", weights.position_bias));
  check_latent(config, whole("query_down", weights.query_down), one_row(weights.query_down_norm),
               whole("key_down", weights.key_down), one_row(weights.key_down_norm));
}

// What both arrangements have alike.
template <class From, class To>
void copy_shared(const From& from, To& to) {
  to.output = from.output;
  to.output_bias = from.output_bias;
  to.query_norm = from.query_norm;
  to.key_norm = from.key_norm;
  to.sinks = from.sinks;
  to.gate = from.gate;
  to.position_bias = from.position_bias;
  to.query_down = from.query_down;
  to.key_down = from.key_down;
  to.query_down_norm = from.query_down_norm;
  to.key_down_norm = from.key_down_norm;
}

void set_columns(Matrix& to, std::int64_t first, const Matrix& slice) {
  for (std::int64_t r = 0; r < slice.rows; ++r) {
    std::copy_n(slice.view().row(r), slice.cols, to.view().row(r) + first);
  }
}

void append(std::vector<float>& to, const std::vector<float>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Query heads that share a key head.
std::int64_t group_size(const LayerConfig& config) { return config.heads / config.key_heads(); }

}  // namespace

Matrix::Matrix(std::int64_t rows_in, std::int64_t cols_in)
    : rows(rows_in), cols(cols_in), values(index(rows_in * cols_in)) {}

WeightViews::WeightViews(const SplitWeights& weights)
    : query(whole("query", weights.query)),
      key(whole("key", weights.key)),
      value(whole("value", weights.value)),
      query_bias(one_row(weights.query_bias)),
      key_bias(one_row(weights.key_bias)),
      value_bias(one_row(weights.value_bias)),
      output(whole("output", weights.output)),
      output_bias(one_row(weights.output_bias)),
      query_norm(one_row(weights.query_norm)),
      key_norm(one_row(weights.key_norm)),
      sinks(one_row(weights.sinks)),
      gate(whole("gate", weights.gate)),
      position_bias(whole("position_bias", weights.position_bias)),
      query_down(whole("query_down", weights.query_down)),
      key_down(whole("key_down", weights.key_down)),
      query_down_norm(one_row(weights.query_down_norm)),
      key_down_norm(one_row(weights.key_down_norm)) {}

SplitWeights to_split(const WeightViews& weights) {
  const auto matrix = [](const ConstAnyMatrix& from) {
    Matrix copy(from.rows, from.cols);
    read_matrix(from, copy.view());
    return copy;
  };
  const auto bias = [&](const ConstAnyMatrix& from) { return std::move(matrix(from).values); };
  SplitWeights copy;
  copy.query = matrix(weights.query);
  copy.key = matrix(weights.key);
  copy.value = matrix(weights.value);
  copy.query_bias = bias(weights.query_bias);
  copy.key_bias = bias(weights.key_bias);
  copy.value_bias = bias(weights.value_bias);
  copy.output = matrix(weights.output);
  copy.output_bias = bias(weights.output_bias);
  copy.query_norm = bias(weights.query_norm);
  copy.key_norm = bias(weights.key_norm);
  copy.sinks = bias(weights.sinks);
  copy.gate = matrix(weights.gate);
  copy.position_bias = matrix(weights.position_bias);
  copy.query_down = matrix(weights.query_down);
  copy.key_down = matrix(weights.key_down);
  copy.query_down_norm = bias(weights.query_down_norm);
  copy.key_down_norm = bias(weights.key_down_norm);
  return copy;
}

void check_weights(const LayerConfig& config, const WeightViews& weights) {
  require_layer(config);
  const bool grouped = config.kv_width() != config.d_out;
  const Needed query{{config.query_depth(), config.d_out}, query_depth_name(config), "d_out"};
  const Needed key{{config.key_depth(), config.own_key_width()},
                   key_depth_name(config),
                   config.is_latent() ? "heads * (head_dim - latent shared)"
                   : grouped          ? "kv_heads * head_dim"
                                      : "d_out"};
  check_projection(config, "query", weights.query, weights.query_bias, query);
  const Needed value{{config.key_depth(), config.value_width()},
                     key_depth_name(config),
                     config.value_dim > 0 ? "key heads * value_dim" : key.cols_name};
  check_projection(config, "key", weights.key, weights.key_bias, key);
  check_projection(config, "value", weights.value, weights.value_bias, value);
  check_output(config, weights.output, weights.output_bias);
  check_norm_weights(config, weights.query_norm, weights.key_norm);
  check_sinks(config, weights.sinks);
  check_gate(config, weights.gate);
  check_position_bias(config, weights.position_bias);
  check_latent(config, weights.query_down, weights.query_down_norm, weights.key_down,
               weights.key_down_norm);
}

PerHeadWeights to_per_head(const LayerConfig& config, const SplitWeights& weights) {
  check_weights(config, weights);
  const std::int64_t width = config.head_dim();
  const std::int64_t key_width = config.own_key_dim();
  const std::int64_t value_width = config.head_value_dim();
  PerHeadWeights result;
  result.heads.reserve(index(config.heads));
  for (std::int64_t h = 0; h < config.heads; ++h) {
    const std::int64_t first = h * width;
    const std::int64_t key_head = h / group_size(config);
    const std::int64_t first_key = key_head * key_width;
    const std::int64_t first_value = key_head * value_width;
    HeadWeights head;
    head.query = columns(weights.query, first, width);
    head.key = columns(weights.key, first_key, key_width);
    head.value = columns(weights.value, first_value, value_width);
    head.query_bias = part(weights.query_bias, first, width);
    head.key_bias = part(weights.key_bias, first_key, key_width);
    head.value_bias = part(weights.value_bias, first_value, value_width);
    result.heads.push_back(std::move(head));
  }
  copy_shared(weights, result);
  return result;
}

SplitWeights to_split(const LayerConfig& config, const PerHeadWeights& weights) {
  check_weights(config, weights);
  SplitWeights result;
  result.query = Matrix(config.query_depth(), config.d_out);
  result.key = Matrix(config.key_depth(), config.own_key_width());
  result.value = Matrix(config.key_depth(), config.value_width());
  for (std::int64_t h = 0; h < config.heads; ++h) {
    const HeadWeights& head = weights.heads[index(h)];
    set_columns(result.query, h * config.head_dim(), head.query);
    append(result.query_bias, head.query_bias);
    if (h % group_size(config) != 0) continue;
    const std::int64_t key_head = h / group_size(config);
    set_columns(result.key, key_head * config.own_key_dim(), head.key);
    set_columns(result.value, key_head * config.head_value_dim(), head.value);
    append(result.key_bias, head.key_bias);
    append(result.value_bias, head.value_bias);
  }
  copy_shared(weights, result);
  return result;
}

}  // namespace headroom
