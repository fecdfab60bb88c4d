#include "lesson/torch_draws.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headroom::lesson {
namespace {

constexpr std::int64_t kBlock = 16;

}  // namespace

float TorchDraws::uniform() {
  constexpr float kScale = 1.0F / (1 << 24);
  return static_cast<float>(engine_() & 0xFFFFFF) * kScale;
}

// Value i and value i + 8 of a block make a pair.
void TorchDraws::box_muller(float* sixteen) {
  for (std::int64_t i = 0; i < kBlock / 2; ++i) {
    const float radius = std::sqrt(-2 * std::log(1 - sixteen[i]));
    const float angle = 2 * std::numbers::pi_v<float> * sixteen[i + kBlock / 2];
    sixteen[i] = radius * std::cos(angle);
    sixteen[i + kBlock / 2] = radius * std::sin(angle);
  }
}

Matrix TorchDraws::normal(std::int64_t rows, std::int64_t cols) {
  Matrix matrix(rows, cols);
  std::vector<float>& values = matrix.values;
  const auto count = static_cast<std::int64_t>(values.size());
  for (float& value : values) value = uniform();
  for (std::int64_t i = 0; i + kBlock <= count; i += kBlock) box_muller(values.data() + i);
  if (count % kBlock != 0) {  // the last sixteen are drawn once more, those of whole blocks too
    float* tail = values.data() + count - kBlock;
    std::generate_n(tail, kBlock, [this] { return uniform(); });
    box_muller(tail);
  }
  return matrix;
}

std::vector<float> TorchDraws::dropout_factors(std::int64_t count, double probability) {
  constexpr std::uint64_t kFractionBits = 53;
  const double kept_below = 1 - probability;
  std::vector<float> factors(static_cast<std::size_t>(count));
  for (float& factor : factors) {
    const std::uint64_t high = engine_();
    const std::uint64_t draw =
        (high << 32U | engine_()) & ((std::uint64_t{1} << kFractionBits) - 1);
    const double fraction = std::ldexp(static_cast<double>(draw), -static_cast<int>(kFractionBits));
    factor = fraction < kept_below ? static_cast<float>(1 / kept_below) : 0.0F;
  }
  return factors;
}

}  // namespace headroom::lesson
