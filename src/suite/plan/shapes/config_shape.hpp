// The layer of a model's configuration.
#pragma once

#include <string>

#include "plan/shapes/models.hpp"

namespace headroom::plan {

/// @param path of a `config.json`
/// @param layer its number, or such as `decoder.3`; empty for 0
/// @param family that it is read as; empty: the file's own
/// @throws InvalidArgument for a layer that is no number, or a file that does not say enough;
///         FileError as `weights::read_config_file`; Unsupported naming what the model does in its
///         attention that headroom does not.
ShapeSeed config_shape(const std::string& path, const std::string& layer,
                       const std::string& family);

}  // namespace headroom::plan
