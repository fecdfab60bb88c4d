#include "core/call/preparation.hpp"

#include <algorithm>
#include <cmath>

namespace headroom {

double sum_of_squares(const float* x, std::int64_t count) { return squares_of(x, count); }

float inverse_rms(double squares, std::int64_t count, double epsilon) {
  return inverse_rms_of(squares, count, epsilon);
}

void normalise_rows(const NormRows& rows) { normalise_rows_of(rows); }

HeadPreparation::HeadPreparation(const LayerConfig& config, std::int64_t positions,
                                 NormaliseRows* kernel)
    : normalise_(kernel),
      pairs_(config.rotary.pairs),
      norm_(config.norm),
      temperature_(config.temperature),
      head_dim_(config.head_dim()) {
  if (!turns()) return;
  rotary_ = RotaryAngles(config);
  // Calls that reach further bring angles of their own.
  if (config.rotary.context > 0) positions = std::min(positions, config.rotary.context);
  angles_ = AlignedBuffer(positions * rotary_.floats());
  for (std::int64_t p = 0; p < positions; ++p) {
    rotary_.write({p, p, p}, angles_.data() + p * rotary_.floats());
  }
}

void HeadPreparation::turn(float* row, const float* cosines) const {
  const std::int64_t pairs = rotary_.pairs();
  const float* sines = cosines + pairs;
  const bool halves = pairs_ == Rotary::Pairs::halves;
  const std::int64_t step = halves ? 1 : 2;
  float* other = row + (halves ? pairs : 1);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const float x = row[i * step];
    const float y = other[i * step];
    row[i * step] = x * cosines[i] - y * sines[i];
    other[i * step] = x * sines[i] + y * cosines[i];
  }
}

void HeadPreparation::normalise(const Rows& rows) const {
  normalise_(
      {rows.first, rows.stride, rows.count, head_dim_, rows.weights, rows.factors, norm_.epsilon});
}

// Most rows have the factor of the row before.
void HeadPreparation::warm(const Rows& rows) const {
  double steps = -1;
  float factor = 1;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const std::int64_t place = rows.places_before + rows.position + i;
    const double here = std::floor(static_cast<double>(place + 1) / temperature_.step);
    if (here != steps) {
      steps = here;
      factor = static_cast<float>(1 + temperature_.scale * std::log1p(steps));
    }
    float* row = rows.first + i * rows.stride;
    for (std::int64_t c = 0; c < head_dim_; ++c) row[c] *= factor;
  }
}

void HeadPreparation::prepare(const Rows& rows) const {
  if (rows.first == nullptr) return;
  const bool norms = norm_.over != QueryKeyNorm::Over::none;
  for (std::int64_t i = 0; i < rows.count; i += kRowsTogether) {
    Rows some = rows;
    some.first += i * rows.stride;
    some.position += i;
    some.count = std::min(kRowsTogether, rows.count - i);
    if (rows.factors != nullptr) some.factors += i;
    if (norms && !norm_.after_rotary) normalise(some);
    for (std::int64_t r = 0; turns() && r < some.count; ++r) {
      turn(some.first + r * some.stride + rotary_.first_value(),
           rows.angles + (i + r) * rotary_.floats());
    }
    if (norms && norm_.after_rotary) normalise(some);
    if (rows.queries && temperature_.step > 0) warm(some);
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

const float* HeadPreparation::angles_of(const AttendCall& call, const Sequence& sequence,
                                        std::int64_t position) const {
  if (!turns()) return nullptr;
  if (call.angles != nullptr) return call.angles + sequence.first_angle * rotary_.floats();
  return angles_.data() + position * rotary_.floats();
}

void HeadPreparation::keys(const AttendCall& call, const Sequence& sequence,
                           std::int64_t key_head) const {
  if (empty() || sequence.new_keys == 0) return;
  const BlockedView k = call.k.floats();
  prepare({k.at(sequence.first_key, key_head), k.row_stride, sequence.new_keys, sequence.past,
           weights_of(call.parameters.key_norm, norm_, key_head, head_dim_),
           from_row(call.parameters.key_factors, sequence.first_key),
           angles_of(call, sequence, sequence.past), false, 0});
}

void HeadPreparation::queries(const AttendCall& call, const Sequence& sequence,
                              std::int64_t head) const {
  if (empty() || sequence.rows == 0) return;
  const BlockedView q = call.q.floats();
  prepare({q.at(sequence.first_row, head), q.row_stride, sequence.rows, sequence.position,
           weights_of(call.parameters.query_norm, norm_, head, head_dim_),
           from_row(call.parameters.query_factors, sequence.first_row),
           angles_of(call, sequence, sequence.position), true, sequence.places_before});
}

}  // namespace headroom
