// Reading values from JSON and writing it as text.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace headroom {

/// The text of a value, safe to print: what a terminal would obey is written as `\u001b`. Invalid
/// UTF-8, such as in a processor's name or an error's text, is replaced, because it must not end a
/// sweep.
/// @param indent spaces per level; -1 puts everything on one line
std::string to_text(const nlohmann::ordered_json& json, int indent = -1);

/// Replaces every text and every key, however deep, by what may be shown of it.
/// @return whether one was not fit to be shown
bool show_texts(nlohmann::ordered_json& json);

/// The value at a JSON pointer such as `/build/compiler`, or null if there is none.
const nlohmann::ordered_json& value_at(const nlohmann::ordered_json& json, const char* place);

/// The text at a JSON pointer, or `otherwise` if there is none.
std::string text_at(const nlohmann::ordered_json& json, const char* place,
                    const char* otherwise = "unknown");

/// The value, or null without one.
template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace headroom
