#include "programs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <random>

namespace headroom::test {
namespace {

// The standard library's engine is the same everywhere, its distributions are not.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// Small sizes as often as large ones.
  std::int64_t size(std::int64_t least, std::int64_t most) {
    const double ratio = static_cast<double>(most + 1) / static_cast<double>(least);
    return std::min(
        most, static_cast<std::int64_t>(static_cast<double>(least) * std::pow(ratio, uniform())));
  }
  bool chance(double probability) { return uniform() < probability; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[static_cast<std::size_t>(uniform() * static_cast<double>(values.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

Case random_shape(Draws& draws, std::uint64_t number) {
  Case shape;
  // Long sequences, many heads and wide ones, but not all at once.
  const bool is_long = draws.chance(0.1);
  shape.tokens = is_long ? draws.size(300, 1500) : draws.size(1, 200);
  shape.batch = draws.chance(0.2) ? 2 : 1;
  shape.heads = is_long ? draws.size(1, 2) : draws.size(1, 12);
  const std::int64_t head_dim = draws.size(1, is_long ? 64 : 128);
  shape.d_out = shape.heads * head_dim;
  shape.d_in = draws.size(1, is_long ? 64 : 600);
  shape.causal = draws.chance(0.5);
  shape.qkv_bias = draws.chance(0.5);
  shape.d_proj = draws.chance(0.5) ? 0 : draws.size(1, 200);
  shape.dropout = draws.one_of({0.0, 0.0, 0.1, 0.5, 0.9});
  shape.dropout_seed = number;
  return shape;
}

Rotary random_rotary(Draws& draws) {
  Rotary rotary;
  rotary.pairs = draws.one_of({Rotary::Pairs::neighbours, Rotary::Pairs::halves});
  rotary.base = draws.one_of({100.0, 10000.0, 500000.0});
  rotary.scale = draws.one_of({1.0, std::pow(10.0, 2 * draws.uniform() - 1)});
  return rotary;
}

// Small, so that many can be tried; narrow inputs often, beside which turning a pair counts most.
Case random_call_shape(Draws& draws, std::uint64_t number) {
  Case shape;
  shape.tokens = draws.chance(0.3) ? 1 : draws.size(1, 80);
  shape.batch = draws.size(1, 3);
  shape.kv_heads = draws.size(1, 4);
  shape.heads = shape.kv_heads * draws.size(1, 4);
  shape.d_out = shape.heads * 2 * draws.size(1, 64);
  shape.d_in = draws.size(1, draws.chance(0.5) ? 6 : 400);
  shape.causal = draws.chance(0.7);
  shape.qkv_bias = draws.chance(0.5);
  shape.d_proj = draws.chance(0.5) ? 0 : draws.size(1, 100);
  shape.dropout = draws.one_of({0.0, 0.0, 0.1, 0.5});
  shape.dropout_seed = number;
  if (draws.chance(0.6)) shape.past = draws.size(1, 300);
  if (shape.causal && draws.chance(0.4)) shape.window = draws.size(1, 150);
  if (!shape.causal && draws.chance(0.5)) {
    shape.d_memory = draws.size(1, 300);
    shape.memory_tokens = draws.size(1, 150);
  } else if (draws.chance(0.75)) {
    shape.rotary = random_rotary(draws);
  }
  if (draws.chance(0.7)) return shape;
  shape.lengths.assign(static_cast<std::size_t>(shape.batch), shape.tokens);
  for (std::size_t s = 1; s < shape.lengths.size(); ++s)
    shape.lengths[s] = draws.size(1, shape.tokens);
  return shape;
}

void scale(std::vector<float>& values, double factor) {
  for (float& value : values) value *= static_cast<float>(factor);
}

void make_positive(std::vector<float>& values) {
  for (float& value : values) value = std::abs(value);
}

// Rows come in pairs x, -x, of which a faint remainder is left.
void pair_up(Matrix& x) {
  for (std::int64_t r = 0; r + 1 < x.rows; r += 2) {
    std::transform(x.view().row(r), x.view().row(r) + x.cols, x.view().row(r + 1),
                   [](float value) { return -value * 1.0001F; });
  }
}

void scale_logits(SplitWeights& weights, double factor) {
  scale(weights.query.values, factor);
  scale(weights.key.values, factor);
}

// One of seven kinds of data.
Program make_program(const Case& shape, std::uint64_t number, Draws& draws) {
  Program program{"standard", gaussian_layer(shape, number)};
  SplitWeights& weights = program.layer.weights;
  const std::array inputs{&program.layer.x, &program.layer.past, &program.layer.memory};
  const auto scale_inputs = [&](double factor) {
    for (Matrix* input : inputs) scale(input->values, factor);
  };
  switch (number % 7) {
    case 0:
      break;
    case 1:
      program.data = "30-fold";
      scale_inputs(30);
      break;
    case 2:
      program.data = "large logits";
      scale_logits(weights, 6);
      break;
    case 3:
      program.data = "offset";
      for (Matrix* input : inputs) {
        for (float& value : input->values) value += 100.0F;
      }
      scale_logits(weights, 0.01);
      break;
    case 4:
      program.data = "cancelling";
      for (Matrix* input : inputs) pair_up(*input);
      scale(weights.query.values, draws.one_of({0.01, 1.0}));
      break;
    case 5:
      // All sums grow without cancelling, so partial sums are as large as can be.
      program.data = "positive";
      for (Matrix* input : inputs) make_positive(input->values);
      for (Matrix* matrix : {&weights.query, &weights.key, &weights.value, &weights.output}) {
        make_positive(matrix->values);
      }
      scale_logits(weights, 1 / std::sqrt(static_cast<double>(shape.d_in)));
      break;
    default:
      program.data = "any scale";
      scale_inputs(std::pow(10.0, 4 * draws.uniform() - 2.5));
      scale_logits(weights, std::pow(10.0, 2 * draws.uniform() - 1));
  }
  return program;
}

}  // namespace

Program drawn_program(std::uint64_t number) {
  Draws draws(number);
  return make_program(random_shape(draws, number), number, draws);
}

Program random_call(std::uint64_t number) {
  Draws draws(number);
  return make_program(random_call_shape(draws, number), number, draws);
}

}  // namespace headroom::test
