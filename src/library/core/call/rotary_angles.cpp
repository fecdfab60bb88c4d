#include "core/call/rotary_angles.hpp"

#include <cmath>

namespace headroom {
namespace {

std::size_t position_of(const Rotary& rotary, std::int64_t pair) {
  if (!rotary.has_sections()) return 0;
  if (rotary.interleaved) {
    const auto turn = static_cast<std::size_t>(pair % 3);
    return pair < 3 * rotary.sections[turn] ? turn : 0;
  }
  if (pair < rotary.sections[0]) return 0;
  return pair < rotary.sections[0] + rotary.sections[1] ? 1 : 2;
}

}  // namespace

RotaryAngles::RotaryAngles(const LayerConfig& config) : amplitude_(config.rotary.amplitude) {
  const Rotary& rotary = config.rotary;
  if (rotary.pairs == Rotary::Pairs::none) return;
  std::int64_t width = rotary.width > 0 ? rotary.width : config.head_dim();
  if (config.is_latent()) {
    width = config.latent.shared;
    first_value_ = config.head_dim() - width;
  }
  for (std::int64_t i = 0; i < width / 2; ++i) {
    const double exponent = -2 * static_cast<double>(i) / static_cast<double>(width);
    double step = rotary.scale * std::pow(rotary.base, exponent);
    if (!rotary.divisors.empty()) step /= rotary.divisors[static_cast<std::size_t>(i)];
    steps_.push_back(step);
    of_.push_back(position_of(rotary, i));
  }
}

void RotaryAngles::write(const TokenPosition& position, float* row) const {
  float* sines = row + steps_.size();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const double angle = static_cast<double>(position[of_[i]]) * steps_[i];
    row[i] = static_cast<float>(amplitude_ * std::cos(angle));
    sines[i] = static_cast<float>(amplitude_ * std::sin(angle));
  }
}

}  // namespace headroom
