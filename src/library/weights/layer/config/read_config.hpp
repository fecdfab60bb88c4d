// `config.json`, which models for `transformers` have beside their weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "headroom/export.h"
#include "weights/layer/model_config.hpp"

namespace headroom::weights {

/// @param layer its number, for models whose layers differ
/// @throws FileError if it is no JSON object, or one of the fields is no such number.
HEADROOM_API ModelConfig read_config_file(const std::filesystem::path& path,
                                          std::optional<std::int64_t> layer);

/// The same of fields that were found elsewhere. @param path for messages
ModelConfig read_config_fields(const std::filesystem::path& path, const nlohmann::json& fields,
                               std::optional<std::int64_t> layer);

/// That of a folder. @return nothing if the folder has no such file
std::optional<ModelConfig> read_config(const std::filesystem::path& folder,
                                       std::optional<std::int64_t> layer);

}  // namespace headroom::weights
