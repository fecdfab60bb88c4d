#include "core/call/preparation.hpp"

#include <cmath>

namespace headroom {

double sum_of_squares(const float* x, std::int64_t count) {
  constexpr std::int64_t kChains = 16;  // so that no sum waits for the one before
  float sums[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains <= count; i += kChains) {
    for (std::int64_t chain = 0; chain < kChains; ++chain) {
      sums[chain] += x[i + chain] * x[i + chain];
    }
  }
  double total = 0;
  for (; i < count; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (const float sum : sums) total += static_cast<double>(sum);
  return total;
}

float inverse_rms(double squares, std::int64_t count, double epsilon) {
  return static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) + epsilon));
}

HeadPreparation::HeadPreparation(const LayerConfig& config, std::int64_t positions)
    : pairs_(config.rotary.pairs),
      norm_(config.norm),
      temperature_(config.temperature),
      head_dim_(config.head_dim()) {
  if (!turns()) return;
  const Rotary& rotary = config.rotary;
  std::int64_t width = rotary.width > 0 ? rotary.width : head_dim_;
  if (config.is_latent()) {
    width = config.latent.shared;
    first_turned_ = head_dim_ - width;
  }
  half_ = width / 2;
  angles_ = AlignedBuffer(positions * 2 * half_);
  for (std::int64_t i = 0; i < half_; ++i) {
    const double exponent = -2 * static_cast<double>(i) / static_cast<double>(width);
    double step = rotary.scale * std::pow(rotary.base, exponent);
    if (!rotary.divisors.empty()) step /= rotary.divisors[static_cast<std::size_t>(i)];
    for (std::int64_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) * step;
      float* row = angles_.data() + p * 2 * half_;
      row[i] = static_cast<float>(rotary.amplitude * std::cos(angle));
      row[half_ + i] = static_cast<float>(rotary.amplitude * std::sin(angle));
    }
  }
}

void HeadPreparation::turn(float* row, std::int64_t position) const {
  const float* cosines = angles_.data() + position * 2 * half_;
  const float* sines = cosines + half_;
  const bool halves = pairs_ == Rotary::Pairs::halves;
  const std::int64_t step = halves ? 1 : 2;
  float* other = row + (halves ? half_ : 1);
  for (std::int64_t i = 0; i < half_; ++i) {
    const float x = row[i * step];
    const float y = other[i * step];
    row[i * step] = x * cosines[i] - y * sines[i];
    other[i * step] = x * sines[i] + y * cosines[i];
  }
}

void HeadPreparation::normalise(float* row, const float* weights, const float* factor) const {
  const float scale = factor != nullptr
                          ? *factor
                          : inverse_rms(sum_of_squares(row, head_dim_), head_dim_, norm_.epsilon);
  if (weights == nullptr) {
    for (std::int64_t i = 0; i < head_dim_; ++i) row[i] *= scale;
  } else {
    for (std::int64_t i = 0; i < head_dim_; ++i) row[i] = row[i] * scale * weights[i];
  }
}

void HeadPreparation::warm(float* row, std::int64_t position) const {
  const double steps = std::floor(static_cast<double>(position + 1) / temperature_.step);
  const auto factor = static_cast<float>(1 + temperature_.scale * std::log1p(steps));
  for (std::int64_t i = 0; i < head_dim_; ++i) row[i] *= factor;
}

void HeadPreparation::prepare(const Rows& rows) const {
  if (rows.first == nullptr) return;
  const bool norms = norm_.over != QueryKeyNorm::Over::none;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    float* row = rows.first + i * rows.stride;
    const float* factor = rows.factors != nullptr ? rows.factors + i : nullptr;
    if (norms && !norm_.after_rotary) normalise(row, rows.weights, factor);
    if (turns()) turn(row + first_turned_, rows.position + i);
    if (norms && norm_.after_rotary) normalise(row, rows.weights, factor);
    if (rows.queries && temperature_.step > 0) warm(row, rows.position + i);
  }
}

namespace {

// Of norms over the width each block has weights of its own.
const float* weights_of(const float* weights, const QueryKeyNorm& norm, std::int64_t block,
                        std::int64_t head_dim) {
  if (weights == nullptr || norm.over != QueryKeyNorm::Over::width) return weights;
  return weights + block * head_dim;
}

const float* from_row(const float* factors, std::int64_t row) {
  return factors == nullptr ? nullptr : factors + row;
}

}  // namespace

void HeadPreparation::keys(const AttendCall& call, const Sequence& sequence,
                           std::int64_t key_head) const {
  if (empty() || sequence.new_keys == 0) return;
  const BlockedView k = call.k.floats();
  prepare({k.at(sequence.first_key, key_head), k.row_stride, sequence.new_keys, sequence.past,
           weights_of(call.parameters.key_norm, norm_, key_head, head_dim_),
           from_row(call.parameters.key_factors, sequence.first_key), false});
}

void HeadPreparation::queries(const AttendCall& call, const Sequence& sequence,
                              std::int64_t head) const {
  if (empty() || sequence.rows == 0) return;
  const BlockedView q = call.q.floats();
  prepare({q.at(sequence.first_row, head), q.row_stride, sequence.rows, sequence.position,
           weights_of(call.parameters.query_norm, norm_, head, head_dim_),
           from_row(call.parameters.query_factors, sequence.first_row), true});
}

}  // namespace headroom
