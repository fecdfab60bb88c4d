#include "core/call/rotary.hpp"

#include <cmath>

namespace headroom {

RotaryTable::RotaryTable(const Rotary& rotary, std::int64_t head_dim, std::int64_t positions)
    : pairs_(rotary.pairs), half_(head_dim / 2) {
  if (empty()) return;
  angles_ = AlignedBuffer(positions * 2 * half_);
  for (std::int64_t i = 0; i < half_; ++i) {
    const double exponent = -2 * static_cast<double>(i) / static_cast<double>(head_dim);
    const double step = rotary.scale * std::pow(rotary.base, exponent);
    for (std::int64_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) * step;
      float* row = angles_.data() + p * 2 * half_;
      row[i] = static_cast<float>(std::cos(angle));
      row[half_ + i] = static_cast<float>(std::sin(angle));
    }
  }
}

void RotaryTable::turn_row(float* row, const float* cosines, const float* sines) const {
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

void RotaryTable::turn(const BlockedView& view, std::int64_t first_row, std::int64_t count,
                       std::int64_t block, std::int64_t position) const {
  if (empty()) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* cosines = angles_.data() + (position + i) * 2 * half_;
    turn_row(view.at(first_row + i, block), cosines, cosines + half_);
  }
}

}  // namespace headroom
