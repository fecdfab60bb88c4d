// The layer of a model's configuration.
#pragma once

#include <string>

#include "plan/shapes/models.hpp"

namespace headroom::plan {

/// @param path of a `config.json`
/// @param layer its number; empty for 0
/// @throws InvalidArgument for a layer that is no number, or a file that does not say enough;
///         FileError as `weights::read_config_file`; Unsupported naming what the model does in its
///         attention that headroom does not.
ShapeSeed config_shape(const std::string& path, const std::string& layer);

}  // namespace headroom::plan
