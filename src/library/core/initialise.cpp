#include "headroom/initialise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <thread>

#include "core/layer/size_checks.hpp"
#include "headroom/dropout.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

// ---- Gaussian draws -------------------------------------------------------------------------
// Value i of a stream is a pure function of (seed, stream, i), so threads can share the work. The
// standard library's normal_distribution differs between libraries, and its logarithm and cosine
// between processors; the series below use only correctly rounded operations, and agree everywhere
// as long as no compiler fuses them (see COMPILE_OPTIONS of this file). Their errors, below 1e-11,
// vanish when the result becomes a float.

enum class Stream : std::uint32_t {
  query,
  key,
  value,
  output,
  query_bias,
  key_bias,
  value_bias,
  output_bias,
  input,
  memory,
  past,
  query_norm,
  key_norm,
  sinks,
  gate,
  position_bias,
  query_down,
  key_down,
  query_down_norm,
  key_down_norm,
};

// ln(u) for normal u > 0: u = m 2^e with m in [sqrt(1/2), sqrt(2)), ln(m) = 2 artanh((m-1)/(m+1)).
// Branch-free, here and below, because random data would mispredict every second branch.
double natural_log(double u) {
  const auto bits = std::bit_cast<std::int64_t>(u);
  const std::int64_t exponent = (bits - std::bit_cast<std::int64_t>(std::numbers::sqrt2 / 2)) >> 52;
  const auto m = std::bit_cast<double>(bits - (exponent << 52));
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  const double series =
      1 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11)))));
  return static_cast<double>(exponent) * std::numbers::ln2 + 2 * s * series;
}

// 1 - z/d0 (1 - z/d1 (1 - ...)): each term of the sine's and cosine's series from the one before.
// Multiplies by reciprocals known at compile time; divisions would take half of the total time.
template <std::size_t kTerms>
double nested_series(double z, const double (&divisors)[kTerms]) {
  double sum = 1;
  for (std::size_t i = kTerms; i-- > 0;) sum = 1 - z * (1 / divisors[i]) * sum;
  return sum;
}

struct Direction {
  double cosine;
  double sine;
};

// A point on the unit circle: two bits choose the quadrant, the others the angle within +-pi/4 of
// its middle, where short Taylor series suffice.
Direction direction(std::uint32_t draw) {
  constexpr double kQuarterDraws = 1 << 30;
  const double fraction = static_cast<double>(draw & 0x3FFFFFFF) / kQuarterDraws - 0.5;
  const double a = fraction * (std::numbers::pi / 2);
  const double z = a * a;
  const double sine = a * nested_series(z, {6, 20, 42, 72, 110});
  const double cosine = nested_series(z, {2, 12, 30, 56, 90, 132});
  // A quarter turn takes (c, s) to (-s, c).
  const std::uint32_t quarter = draw >> 30;
  const bool swapped = quarter % 2 == 1;
  static constexpr double kCosineSigns[4] = {1, -1, -1, 1};
  static constexpr double kSineSigns[4] = {1, 1, -1, -1};
  return {kCosineSigns[quarter] * (swapped ? sine : cosine),
          kSineSigns[quarter] * (swapped ? cosine : sine)};
}

// Box and Muller's transform of two draws into two independent Gaussians.
Direction gaussian_pair(std::uint32_t radius_draw, std::uint32_t angle_draw) {
  constexpr double kDraws = 4294967296.0;                              // 2^32
  const double u = (static_cast<double>(radius_draw) + 0.5) / kDraws;  // never 0
  const double radius = std::sqrt(-2 * natural_log(u));
  const Direction unit = direction(angle_draw);
  return {radius * unit.cosine, radius * unit.sine};
}

struct GaussianStream {
  std::uint64_t seed;
  Stream stream;
  double deviation;

  std::array<float, 4> block(std::uint64_t number) const {
    const auto draws =
        philox4x32({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                    static_cast<std::uint32_t>(stream), 0},
                   {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const Direction a = gaussian_pair(draws[0], draws[1]);
    const Direction b = gaussian_pair(draws[2], draws[3]);
    return {static_cast<float>(deviation * a.cosine), static_cast<float>(deviation * a.sine),
            static_cast<float>(deviation * b.cosine), static_cast<float>(deviation * b.sine)};
  }

  void fill_blocks(std::vector<float>& values, std::size_t first, std::size_t end) const {
    for (std::size_t number = first; number < end; ++number) {
      const std::array<float, 4> four = block(number);
      const std::size_t begin = 4 * number;
      std::copy_n(four.begin(), std::min<std::size_t>(4, values.size() - begin),
                  values.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  }

  void fill(std::vector<float>& values) const {
    constexpr std::size_t kBlocksWorthAThread = 1 << 18;
    const std::size_t blocks = (values.size() + 3) / 4;
    const std::size_t parts =
        std::clamp<std::size_t>(blocks / kBlocksWorthAThread, 1,
                                std::max<std::size_t>(1, std::thread::hardware_concurrency()));
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < parts; ++i) {
      threads.emplace_back([=, this, &values] {
        fill_blocks(values, blocks * i / parts, blocks * (i + 1) / parts);
      });
    }
    fill_blocks(values, 0, blocks / parts);
  }
};

Matrix gaussian_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed, Stream stream) {
  Matrix matrix(rows, cols);
  GaussianStream{seed, stream, 1 / std::sqrt(static_cast<double>(rows))}.fill(matrix.values);
  return matrix;
}

std::vector<float> gaussian_bias(std::int64_t size, std::uint64_t seed, Stream stream) {
  constexpr double kBiasDeviation = 0.1;
  std::vector<float> bias(static_cast<std::size_t>(size));
  GaussianStream{seed, stream, kBiasDeviation}.fill(bias);
  return bias;
}

// Near 1, as in trained models.
std::vector<float> gaussian_norm(std::int64_t size, std::uint64_t seed, Stream stream) {
  std::vector<float> weights = gaussian_bias(size, seed, stream);
  for (float& weight : weights) weight += 1;
  return weights;
}

void add_norms(const LayerConfig& config, std::uint64_t seed, SplitWeights& weights) {
  if (config.query_norm_width() == 0) return;
  weights.query_norm = gaussian_norm(config.query_norm_width(), seed, Stream::query_norm);
  weights.key_norm = gaussian_norm(config.key_norm_width(), seed, Stream::key_norm);
}

void add_latent(const LayerConfig& config, std::uint64_t seed, SplitWeights& weights) {
  const Latent& latent = config.latent;
  if (latent.rank == 0) return;
  weights.key_down = gaussian_matrix(config.d_in, config.latent_width(), seed, Stream::key_down);
  weights.key_down_norm = gaussian_norm(latent.rank, seed, Stream::key_down_norm);
  if (latent.query_rank == 0) return;
  weights.query_down = gaussian_matrix(config.d_in, latent.query_rank, seed, Stream::query_down);
  weights.query_down_norm = gaussian_norm(latent.query_rank, seed, Stream::query_down_norm);
}

// PyTorch has no such layer to draw for.
void refuse_latent(const LayerConfig& config) {
  if (!config.is_latent()) return;
  throw InvalidArgument(
      "initialise: PyTorch draws no weights of latents; use gaussian_weights, or leave latent out");
}

// Slopes as ALiBi has them for a power of two; else Gaussian values.
Matrix position_biases(const LayerConfig& config, std::uint64_t seed) {
  if (config.position_bias_rows() == 0) return {};
  Matrix values(config.position_bias_rows(), config.heads);
  if (config.position_bias.kind == PositionBias::Kind::buckets) {
    GaussianStream{seed, Stream::position_bias, 1}.fill(values.values);
    return values;
  }
  for (std::int64_t h = 0; h < config.heads; ++h) {
    const double exponent = -8 * static_cast<double>(h + 1) / static_cast<double>(config.heads);
    values.values[static_cast<std::size_t>(h)] = static_cast<float>(std::exp2(exponent));
  }
  return values;
}

Matrix unit_gaussians(std::int64_t rows, std::int64_t cols, std::uint64_t seed, Stream stream) {
  check_size("rows", rows, 0);
  check_product("rows * width", {rows, cols});
  Matrix matrix(rows, cols);
  GaussianStream{seed, stream, 1}.fill(matrix.values);
  return matrix;
}

// ---- PyTorch's draws ------------------------------------------------------------------------

// The low 24 bits of a draw as a fraction in [0, 1). Scaled in double and rounded to float once,
// as PyTorch does on a CPU; in float arithmetic some last digits differ.
class TorchUniform {
 public:
  explicit TorchUniform(std::uint32_t seed) : engine_(seed) {}

  float next(float from, float to) {
    constexpr double kScale = 1.0 / (1 << 24);
    const double fraction = static_cast<double>(engine_() & 0xFFFFFF) * kScale;
    return static_cast<float>(fraction * static_cast<double>(to - from) +
                              static_cast<double>(from));
  }

  // nn.Linear stores d_out x d_in, so its draws fill ours column by column.
  Matrix linear_matrix(std::int64_t rows, std::int64_t cols) {
    const float bound = linear_bound(rows);
    Matrix matrix(rows, cols);
    for (std::int64_t c = 0; c < cols; ++c) {
      for (std::int64_t r = 0; r < rows; ++r) matrix.view().row(r)[c] = next(-bound, bound);
    }
    return matrix;
  }

  std::vector<float> linear_bias(std::int64_t rows, std::int64_t cols) {
    const float bound = linear_bound(rows);
    std::vector<float> bias(static_cast<std::size_t>(cols));
    for (float& value : bias) value = next(-bound, bound);
    return bias;
  }

  template <class Weights>
  void linear_query(const LayerConfig& config, std::int64_t cols, Weights& weights) {
    linear(config, config.d_in, cols, weights.query, weights.query_bias);
  }

  template <class Weights>
  void linear_key_value(const LayerConfig& config, std::int64_t key_cols, std::int64_t value_cols,
                        Weights& weights) {
    linear(config, config.key_input(), key_cols, weights.key, weights.key_bias);
    linear(config, config.key_input(), value_cols, weights.value, weights.value_bias);
  }

  template <class Weights>
  void linear_output(const LayerConfig& config, Weights& weights) {
    if (config.d_proj == 0) return;
    weights.output = linear_matrix(config.context_width(), config.d_proj);
    weights.output_bias = linear_bias(config.context_width(), config.d_proj);
  }

 private:
  void linear(const LayerConfig& config, std::int64_t rows, std::int64_t cols, Matrix& matrix,
              std::vector<float>& bias) {
    matrix = linear_matrix(rows, cols);
    if (config.qkv_bias) bias = linear_bias(rows, cols);
  }

  static float linear_bound(std::int64_t rows) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(rows)));
  }

  std::mt19937 engine_;
};

void share_key_value(const HeadWeights& from, HeadWeights& to) {
  to.key = from.key;
  to.value = from.value;
  to.key_bias = from.key_bias;
  to.value_bias = from.value_bias;
}

}  // namespace

SplitWeights gaussian_weights(const LayerConfig& config, std::uint64_t seed) {
  config.validate();
  SplitWeights weights;
  weights.query = gaussian_matrix(config.query_depth(), config.d_out, seed, Stream::query);
  weights.key = gaussian_matrix(config.key_depth(), config.own_key_width(), seed, Stream::key);
  weights.value = gaussian_matrix(config.key_depth(), config.value_width(), seed, Stream::value);
  if (config.qkv_bias) {
    weights.query_bias = gaussian_bias(config.d_out, seed, Stream::query_bias);
    weights.key_bias = gaussian_bias(config.kv_width(), seed, Stream::key_bias);
    weights.value_bias = gaussian_bias(config.value_width(), seed, Stream::value_bias);
  }
  if (config.d_proj > 0) {
    weights.output = gaussian_matrix(config.context_width(), config.d_proj, seed, Stream::output);
    weights.output_bias = gaussian_bias(config.d_proj, seed, Stream::output_bias);
  }
  add_norms(config, seed, weights);
  if (config.sinks) {
    weights.sinks.resize(static_cast<std::size_t>(config.heads));
    GaussianStream{seed, Stream::sinks, 1}.fill(weights.sinks);
  }
  if (config.gate) {
    weights.gate = gaussian_matrix(config.d_in, config.context_width(), seed, Stream::gate);
  }
  weights.position_bias = position_biases(config, seed);
  add_latent(config, seed, weights);
  return weights;
}

Matrix gaussian_input(std::int64_t rows, const LayerConfig& config, std::uint64_t seed) {
  return unit_gaussians(rows, config.d_in, seed, Stream::input);
}

Matrix gaussian_memory(std::int64_t rows, const LayerConfig& config, std::uint64_t seed) {
  return unit_gaussians(rows, config.d_memory, seed, Stream::memory);
}

Matrix gaussian_past(std::int64_t rows, const LayerConfig& config, std::uint64_t seed) {
  return unit_gaussians(rows, config.key_input(), seed, Stream::past);
}

SplitWeights linear_weights(const LayerConfig& config, std::uint32_t seed) {
  config.validate();
  refuse_latent(config);
  TorchUniform draws(seed);
  SplitWeights weights;
  draws.linear_query(config, config.d_out, weights);
  draws.linear_key_value(config, config.kv_width(), config.value_width(), weights);
  draws.linear_output(config, weights);
  return weights;
}

PerHeadWeights linear_weights_per_head(const LayerConfig& config, std::uint32_t seed) {
  config.validate();
  refuse_latent(config);
  TorchUniform draws(seed);
  PerHeadWeights weights;
  weights.heads.resize(static_cast<std::size_t>(config.heads));
  const std::int64_t group_size = config.heads / config.key_heads();
  for (std::int64_t h = 0; h < config.heads; ++h) {
    HeadWeights& head = weights.heads[static_cast<std::size_t>(h)];
    draws.linear_query(config, config.head_dim(), head);
    if (h % group_size == 0) {
      draws.linear_key_value(config, config.head_dim(), config.head_value_dim(), head);
    } else {
      share_key_value(weights.heads[static_cast<std::size_t>(h - 1)], head);
    }
  }
  draws.linear_output(config, weights);
  return weights;
}

std::vector<Matrix> uniform_matrices(std::int64_t rows, std::int64_t cols, int count,
                                     std::uint32_t seed) {
  TorchUniform draws(seed);
  std::vector<Matrix> matrices;
  for (int i = 0; i < count; ++i) {
    matrices.emplace_back(rows, cols);
    for (float& value : matrices.back().values) value = draws.next(0, 1);
  }
  return matrices;
}

}  // namespace headroom
