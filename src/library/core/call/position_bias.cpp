#include "core/call/position_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/element/read_matrix.hpp"

namespace headroom {

std::int64_t distance_bucket(const LayerConfig& config, std::int64_t distance) {
  std::int64_t buckets = config.position_bias.buckets;
  std::int64_t first = 0;
  if (config.causal) {
    distance = std::max<std::int64_t>(-distance, 0);
  } else {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  }
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  const auto of_exact = static_cast<double>(exact);
  const double share = std::log(static_cast<double>(distance) / of_exact) /
                       std::log(static_cast<double>(config.position_bias.farthest) / of_exact);
  const double beyond = share * static_cast<double>(buckets - exact);
  return first + std::min(exact + static_cast<std::int64_t>(beyond), buckets - 1);
}

DistanceTable::DistanceTable(const LayerConfig& config, const ConstAnyMatrix& values)
    : config_(config) {
  if (config.position_bias.kind == PositionBias::Kind::none) return;
  values_.resize(static_cast<std::size_t>(values.rows * values.cols));
  read_matrix(values, {values_.data(), values.rows, values.cols, values.cols});
}

void DistanceTable::reach(std::int64_t tokens) {
  if (empty() || tokens <= reach_) return;
  reach_ = tokens;
  const std::int64_t width = 2 * reach_ - 1;
  table_.resize(static_cast<std::size_t>(config_.heads * width + 2 * kBeside));
  const bool slopes = config_.position_bias.kind == PositionBias::Kind::slopes;
  for (std::int64_t distance = 1 - reach_; distance < reach_; ++distance) {
    const std::int64_t row = slopes ? 0 : distance_bucket(config_, distance);
    const float factor = slopes ? static_cast<float>(distance) : 1.0F;
    for (std::int64_t head = 0; head < config_.heads; ++head) {
      const float value = factor * values_[static_cast<std::size_t>(row * config_.heads + head)];
      table_[static_cast<std::size_t>(kBeside + head * width + reach_ - 1 + distance)] = value;
      largest_ = std::max(largest_, std::abs(value));
    }
  }
}

std::int64_t DistanceTable::bytes() const {
  return static_cast<std::int64_t>((values_.size() + table_.size()) * sizeof(float));
}

void DistanceTable::add_to(ScoreMask& mask) const {
  if (empty()) return;
  mask.by_distance = table_.data() + kBeside + reach_ - 1;
  mask.distance_head_stride = 2 * reach_ - 1;
  mask.largest_distance = largest_;
}

}  // namespace headroom
