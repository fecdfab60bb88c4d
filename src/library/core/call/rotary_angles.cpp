#include "core/call/rotary_angles.hpp"

#include <cmath>

#include "core/layer/rotary_rules.hpp"

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

RotaryAngles::RotaryAngles(const LayerConfig& config) : rotary_(config.rotary) {
  if (rotary_.pairs == Rotary::Pairs::none) return;
  const std::int64_t width = turned_width(config);
  if (config.is_latent()) first_value_ = config.head_dim() - width;
  steps_.resize(static_cast<std::size_t>(width / 2));
  for (std::int64_t i = 0; i < width / 2; ++i) of_.push_back(position_of(rotary_, i));
  set_steps(rotary_.base, rotary_.divisors);
}

void RotaryAngles::set_steps(double base, const std::vector<double>& divisors) {
  const auto width = static_cast<double>(2 * pairs());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i] = rotary_.scale * std::pow(base, -2 * static_cast<double>(i) / width);
    if (!divisors.empty()) steps_[i] /= divisors[i];
  }
}

void RotaryAngles::reach(std::int64_t tokens) {
  const bool further = tokens > rotary_.context;
  const std::vector<double>& divisors =
      further && !rotary_.long_divisors.empty() ? rotary_.long_divisors : rotary_.divisors;
  double base = rotary_.base;
  if (further && rotary_.growth > 0) {
    const auto width = static_cast<double>(2 * pairs());
    const double stretched = static_cast<double>(tokens) / static_cast<double>(rotary_.context);
    base *= std::pow(rotary_.growth * stretched - (rotary_.growth - 1), width / (width - 2));
  }
  set_steps(base, divisors);
}

void RotaryAngles::write(const TokenPosition& position, float* row) const {
  float* sines = row + steps_.size();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const double angle = static_cast<double>(position[of_[i]]) * steps_[i];
    row[i] = static_cast<float>(rotary_.amplitude * std::cos(angle));
    sines[i] = static_cast<float>(rotary_.amplitude * std::sin(angle));
  }
}

void RotaryAngles::copy(const float* table, const TokenPosition& position, float* row) const {
  for (std::int64_t i = 0; i < pairs(); ++i) {
    const float* from = table + position[of_[static_cast<std::size_t>(i)]] * floats();
    row[i] = from[i];
    row[pairs() + i] = from[pairs() + i];
  }
}

}  // namespace headroom
