// Rules of a layer's rotary positions.
#pragma once

#include <cstdint>
#include <string>

#include "headroom/export.h"
#include "headroom/layer_config.hpp"

namespace headroom {

/// Values of a head that turn: where nothing else is said, all, or those of a latent's shared part.
HEADROOM_API std::int64_t turned_width(const LayerConfig& config);

/// @throws InvalidArgument if a layer cannot have such rotary positions.
void check_rotary(const LayerConfig& config);

/// What an id has of them. @pre there are some
std::string rotary_id(const Rotary& rotary);

}  // namespace headroom
