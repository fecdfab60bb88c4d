#include "backends/onednn/careful_rows.hpp"

#include <bit>
#include <cmath>

namespace headroom::onednn {

bool all_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kExponent = 0x7f800000u;  // all ones in NaN and Inf only
  constexpr std::int64_t kChains = 16;              // so that no value waits for the one before
  std::uint32_t special[kChains] = {};
  // Adding one to a full exponent carries into the sign bit; no branch, so this vectorises.
  const auto mark = [&](std::int64_t i, std::int64_t chain) {
    special[chain] |= (std::bit_cast<std::uint32_t>(values[i]) & kExponent) + 0x00800000u;
  };
  std::int64_t i = 0;
  for (; i + kChains <= count; i += kChains) {
    for (std::int64_t chain = 0; chain < kChains; ++chain) mark(i + chain, chain);
  }
  for (; i < count; ++i) mark(i, 0);
  std::uint32_t any = 0;
  for (const std::uint32_t one : special) any |= one;
  return (any & 0x80000000u) == 0;
}

bool all_finite(const Bf16* values, std::int64_t count) {
  constexpr std::uint16_t kExponent = 0x7f80u;
  std::uint16_t special = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    special |= static_cast<std::uint16_t>((values[i].bits & kExponent) + 0x0080u);
  }
  return (special & 0x8000u) == 0;
}

void careful_scores(const float* query, const float* keys, std::int64_t count,
                    std::int64_t head_dim, float scale, float* scores) {
  for (std::int64_t j = 0; j < count; ++j) {
    const float* key = keys + j * head_dim;
    float score = 0.0f;
    for (std::int64_t d = 0; d < head_dim; ++d) score += query[d] * key[d];
    scores[j] = score * scale;
  }
}

void cap_scores(float cap, std::int64_t count, float* scores) {
  for (std::int64_t j = 0; j < count; ++j) scores[j] = cap * std::tanh(scores[j] / cap);
}

void careful_softmax(float* scores, std::int64_t count, const float* sink) {
  float largest = sink != nullptr ? *sink : -INFINITY;
  for (std::int64_t j = 0; j < count; ++j) {
    if (scores[j] > largest) largest = scores[j];
  }
  float sum = sink != nullptr ? std::exp(*sink - largest) : 0.0f;
  for (std::int64_t j = 0; j < count; ++j) {
    scores[j] = std::exp(scores[j] - largest);
    sum += scores[j];
  }
  for (std::int64_t j = 0; j < count; ++j) scores[j] /= sum;
}

void careful_values(const float* values, std::int64_t count, std::int64_t value_dim,
                    const float* weights, float* out) {
  for (std::int64_t d = 0; d < value_dim; ++d) out[d] = 0.0f;
  for (std::int64_t j = 0; j < count; ++j) {
    const float* value = values + j * value_dim;
    for (std::int64_t d = 0; d < value_dim; ++d) out[d] += weights[j] * value[d];
  }
}

}  // namespace headroom::onednn
