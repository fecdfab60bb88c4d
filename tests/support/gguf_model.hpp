// Layers of tests/data/models as converters of llama.cpp would write them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "support/gguf_text.hpp"

namespace headroom::test {

/// `general.architecture` of a folder of tests/data/models; empty where headroom knows none.
std::optional<std::string> gguf_architecture_of(const std::string& folder);

/// The layer of an entry of models.json: its tensors in the order and with the names of GGUF, and
/// the metadata of its model.
/// @pre its folder has an architecture
GgufText gguf_of(const nlohmann::json& entry);

}  // namespace headroom::test
