// Rules of sizes and numbers, for layers and for calls of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "headroom/layer_config.hpp"

namespace headroom {

/// @throws InvalidArgument if `found` is below `least`.
void check_size(std::string_view name, std::int64_t found, std::int64_t least);

/// @throws InvalidArgument if it is not above 0, or not finite.
void check_positive(std::string_view name, double value);

/// The same, but for 0.
void check_positive_or_none(std::string_view name, double value);

/// @throws InvalidArgument if bytes of so many values cannot be counted.
void check_product(std::string_view names, std::initializer_list<std::int64_t> sizes);

/// All that `LayerConfig::validate` checks, but that a layer has an input at all.
void check_widths(const LayerConfig& config);

/// What follows heads and widths in an id. @param memory such as `M20x512`, or empty
std::string options_in_id(const LayerConfig& config, const std::string& memory);

}  // namespace headroom
