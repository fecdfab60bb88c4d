#include "reference/steps/norm.hpp"

#include <cmath>

namespace headroom::reference {
namespace {

// What shares one mean.
void normalise_values(double epsilon, std::int64_t count, const float* weights, std::int64_t period,
                      double* values, double* sizes) {
  double squares = 0;
  double products = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    squares += values[i] * values[i];
    products += std::abs(values[i]) * sizes[i];
  }
  const double mean = squares / static_cast<double>(count) + epsilon;
  const double factor = 1 / std::sqrt(mean);
  const double of_mean = products / (static_cast<double>(count) * mean);
  for (std::int64_t i = 0; i < count; ++i) {
    const double weight = weights == nullptr ? 1 : static_cast<double>(weights[i % period]);
    const double value = values[i];
    values[i] = value * factor * weight;
    sizes[i] = std::abs(weight) * factor * (sizes[i] + std::abs(value) * of_mean);
  }
}

}  // namespace

void normalise(const Case& shape, std::int64_t heads, const std::vector<float>& weights,
               double* values, double* sizes) {
  const QueryKeyNorm& norm = shape.norm;
  const std::int64_t head_dim = shape.head_dim();
  const float* first = weights.empty() ? nullptr : weights.data();
  if (norm.over == QueryKeyNorm::Over::width) {
    normalise_values(norm.epsilon, heads * head_dim, first, heads * head_dim, values, sizes);
  } else if (norm.over == QueryKeyNorm::Over::head) {
    for (std::int64_t head = 0; head < heads; ++head) {
      normalise_values(norm.epsilon, head_dim, first, head_dim, values + head * head_dim,
                       sizes + head * head_dim);
    }
  }
}

void normalise_latent(double epsilon, const std::vector<float>& weights, double* values,
                      double* sizes) {
  const auto count = static_cast<std::int64_t>(weights.size());
  normalise_values(epsilon, count, weights.data(), count, values, sizes);
}

}  // namespace headroom::reference
