#include "plan/shapes/outliers.hpp"

#include <algorithm>

#include "core/layer/rotary_rules.hpp"

namespace headroom::plan {

std::vector<std::int64_t> outlier_channels(std::int64_t channels) {
  constexpr std::int64_t kOneIn = 64;
  const std::int64_t count = std::max<std::int64_t>(1, channels / kOneIn);
  const std::int64_t apart = channels / count;
  std::vector<std::int64_t> outliers;
  for (std::int64_t i = 0; i < count; ++i) outliers.push_back(i * apart + apart / 3);
  return outliers;
}

std::vector<std::int64_t> outlier_key_channels(const LayerConfig& layer) {
  if (layer.rotary.pairs == Rotary::Pairs::none) return outlier_channels(layer.head_dim());
  const std::int64_t pairs = turned_width(layer) / 2;
  const bool halves = layer.rotary.pairs == Rotary::Pairs::halves;
  std::vector<std::int64_t> channels;
  for (const std::int64_t pair : outlier_channels(pairs)) {
    const std::int64_t first = halves ? pair : 2 * pair;
    channels.insert(channels.end(), {first, first + (halves ? pairs : 1)});
  }
  return channels;
}

std::optional<std::string> declines_outliers(const LayerConfig& layer) {
  if (layer.is_latent()) {
    return "outliers: keys of this layer are made of latents, whose channels all heads share";
  }
  if (layer.clip > 0) return "outliers: this layer clamps its keys, and would clamp outliers first";
  if (layer.norm.over != QueryKeyNorm::Over::none && !layer.norm.weighted) {
    return "outliers: this layer's norm has no weights, so outliers would make all other channels "
           "smaller";
  }
  return std::nullopt;
}

}  // namespace headroom::plan
