// `config.json`, which models for `transformers` have beside their weights.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "headroom/export.h"
#include "weights/layer/model_config.hpp"

namespace headroom::weights {

/// @throws FileError if it is no JSON object, or one of the fields is no such number.
HEADROOM_API ModelConfig read_config_file(const std::filesystem::path& path,
                                          const ConfigLayer& layer);

/// The same of fields that were found elsewhere. @param path for messages
HEADROOM_API ModelConfig read_config_fields(const std::filesystem::path& path,
                                            const nlohmann::json& fields, const ConfigLayer& layer);

/// The same where fields that are missing mean nothing, as no class has values for them.
ModelConfig read_stated_fields(const std::filesystem::path& path, const nlohmann::json& fields,
                               const ConfigLayer& layer);

/// That of a folder. @return nothing if the folder has no such file
std::optional<ModelConfig> read_config(const std::filesystem::path& folder,
                                       const ConfigLayer& layer);

}  // namespace headroom::weights
