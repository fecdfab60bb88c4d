// What every room asks of JSON that it wrote, or was given.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

/// The text of a value. What is not UTF-8 (a processor's name, say, or an error's text) is
/// replaced: it must not end a sweep.
/// @param indent spaces a level; -1 puts all on one line
std::string to_text(const nlohmann::ordered_json& json, int indent = -1);

/// The value at a JSON pointer such as `/build/compiler`, or null where there is none.
const nlohmann::ordered_json& value_at(const nlohmann::ordered_json& json, const char* place);

/// Likewise for text; `otherwise` where there is none.
std::string text_at(const nlohmann::ordered_json& json, const char* place,
                    const char* otherwise = "unknown");

}  // namespace headroom
