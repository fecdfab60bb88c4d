#include "reference/element_bound.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace headroom::reference {
namespace {

constexpr double kRounding = kFloatEpsilon / 2;  // u
constexpr double kLostWeight = 0x1p-125;

// An upper bound of exp(t) - 1 that costs an exponential only where t is large, and stays finite.
double grown(double t) {
  constexpr double kLargest = 300;
  return t < 1 ? t + t * t : std::expm1(std::min(t, kLargest));
}

}  // namespace

BoundFactors bound_factors(const Case& shape, std::int64_t visible) {
  constexpr double kRoundingsOfTurn = 3;
  const auto key_input = static_cast<double>(shape.key_input());
  const auto head_dim = static_cast<double>(shape.head_dim());
  constexpr double kRoundingsOfNorm = 8;
  const bool turned = shape.rotary.pairs != Rotary::Pairs::none;
  const bool normed = shape.norm.over != QueryKeyNorm::Over::none;
  // Both orders of multiplication: behind a latent follow its norm and a sum over its values.
  const Latent& latent = shape.latent;
  const double keys_behind =
      shape.is_latent() ? static_cast<double>(latent.rank) + kRoundingsOfNorm : 0;
  const double queries_behind =
      latent.query_rank > 0 ? static_cast<double>(latent.query_rank) + kRoundingsOfNorm : 0;
  const double projections =
      static_cast<double>(shape.d_in) + key_input + keys_behind + queries_behind +
      static_cast<double>(shape.is_latent() ? latent.rank : 0);  // of absorbed queries
  BoundFactors factors;
  factors.value = 4 + std::sqrt(key_input + keys_behind + 8 * static_cast<double>(visible));
  const double prepared = (turned ? kRoundingsOfTurn : 0) + (normed ? kRoundingsOfNorm : 0);
  factors.logit = 4 + std::sqrt(projections + 2 * prepared + head_dim);
  if (shape.d_proj > 0)
    factors.output = 4 + 2 * std::sqrt(static_cast<double>(shape.context_width()));
  return factors;
}

void weigh_bound(const BoundFactors& factors, const Softmax& softmax,
                 const std::vector<float>& dropout, std::vector<double>& logits) {
  constexpr double kRoundingsOfDistance = 3;
  const double of_sink = -kRounding * kRoundingsOfDistance * softmax.sink_distance;
  double mean_error = softmax.sink_weight * of_sink;         // sum_k p_k t_k
  double mean_grown = softmax.sink_weight * grown(of_sink);  // sum_k p_k g_k
  for (std::size_t j = 0; j < logits.size(); ++j) {
    const double error =
        kRounding * (factors.logit * logits[j] - kRoundingsOfDistance * softmax.distances[j]);
    logits[j] = grown(error);
    mean_error += softmax.weights[j] * error;
    mean_grown += softmax.weights[j] * logits[j];
  }
  const double sum = 1 + grown(mean_error);
  for (std::size_t j = 0; j < logits.size(); ++j) {
    const double p = softmax.weights[j];
    const double change = p * ((1 - 2 * p) * logits[j] + mean_grown) * sum;
    const double kept = dropout.empty() ? 1 : static_cast<double>(dropout[j]);
    logits[j] = kept * (p * (factors.value + factors.output) +
                        (std::clamp(change, 0.0, 1.0) + kLostWeight) / kFloatEpsilon);
  }
}

}  // namespace headroom::reference
