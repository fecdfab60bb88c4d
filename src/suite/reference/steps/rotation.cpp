#include "reference/steps/rotation.hpp"

#include <cmath>

namespace headroom::reference {
namespace {

// (a, b) turned by an angle.
void turn_pair(double cosine, double sine, double& a, double& b) {
  const double x = a;
  const double y = b;
  a = x * cosine - y * sine;
  b = x * sine + y * cosine;
}

// Sizes hold whatever the signs are.
void turn_sizes(double cosine, double sine, double& a, double& b) {
  const double x = a;
  const double y = b;
  a = x * std::abs(cosine) + y * std::abs(sine);
  b = x * std::abs(sine) + y * std::abs(cosine);
}

// Which of three positions each pair turns by.
std::vector<std::size_t> axes_of(const Rotary& rotary, std::size_t pairs) {
  std::vector<std::size_t> axes(pairs, 0);
  if (!rotary.has_sections()) return axes;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::int64_t n = 0; n < rotary.sections[axis]; ++n) {
      // In turns, the n-th of an axis has 3 n pairs before it, and the first axis is what is left.
      const std::size_t pair = rotary.interleaved ? 3 * static_cast<std::size_t>(n) + axis : next++;
      if (pair < pairs) axes[pair] = axis;
    }
  }
  return axes;
}

}  // namespace

Rotation::Rotation(const Case& shape, std::int64_t reach)
    : head_dim_(shape.head_dim()),
      step_(shape.rotary.pairs == Rotary::Pairs::neighbours ? 2 : 1),
      distance_(1),
      amplitude_(shape.rotary.amplitude) {
  const Rotary& rotary = shape.rotary;
  if (rotary.pairs == Rotary::Pairs::none) return;
  std::int64_t width = rotary.width == 0 ? head_dim_ : rotary.width;
  if (shape.is_latent()) {
    width = shape.latent.shared;
    first_ = head_dim_ - width;
  }
  if (rotary.pairs == Rotary::Pairs::halves) distance_ = width / 2;
  const bool is_long = rotary.context > 0 && reach > rotary.context;
  const std::vector<double>& divisors =
      is_long && rotary.growth == 0 ? rotary.long_divisors : rotary.divisors;
  const double wide = static_cast<double>(width);
  double base = rotary.base;
  if (is_long && rotary.growth > 0) {
    const double times = static_cast<double>(reach) / static_cast<double>(rotary.context);
    base *= std::pow(1 + rotary.growth * (times - 1), wide / (wide - 2));
  }
  for (std::int64_t i = 0; i < width / 2; ++i) {
    const double exponent = -2 * static_cast<double>(i) / wide;
    const double divisor = divisors.empty() ? 1 : divisors[static_cast<std::size_t>(i)];
    frequencies_.push_back(rotary.scale * std::pow(base, exponent) / divisor);
  }
  axes_ = axes_of(rotary, frequencies_.size());
}

void Rotation::turn(const Whereabouts& token, std::int64_t heads, double* values,
                    double* sizes) const {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = static_cast<double>(token[axes_[i]]) * frequencies_[i];
    const double cosine = amplitude_ * std::cos(angle);
    const double sine = amplitude_ * std::sin(angle);
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t a = head * head_dim_ + first_ + static_cast<std::int64_t>(i) * step_;
      const std::int64_t b = a + distance_;
      turn_pair(cosine, sine, values[a], values[b]);
      turn_sizes(cosine, sine, sizes[a], sizes[b]);
    }
  }
}

}  // namespace headroom::reference
