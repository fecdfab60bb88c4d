// Channels that are many times as large as others, as trained models have a few.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/layer_config.hpp"

namespace headroom::plan {

/// `Case::outliers` of what `--outliers` says: a factor of 1 is the same data as none.
constexpr std::int64_t factor_of_outliers(std::int64_t given) { return given == 1 ? 0 : given; }

/// One in 64 of so many channels, but at least one, evenly apart.
std::vector<std::int64_t> outlier_channels(std::int64_t channels);

/// Those of the keys of each head. Rotary positions turn two channels as a pair, which leaves
/// scores as they are only if both are outliers: so it is one pair in 64.
std::vector<std::int64_t> outlier_key_channels(const LayerConfig& layer);

/// Why a layer cannot have such keys with the scores that it had, or nothing.
std::optional<std::string> declines_outliers(const LayerConfig& layer);

}  // namespace headroom::plan
