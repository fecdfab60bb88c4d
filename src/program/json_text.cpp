#include "program/json_text.hpp"

namespace headroom {

using nlohmann::ordered_json;

std::string to_text(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

const ordered_json& value_at(const ordered_json& json, const char* place) {
  static const ordered_json nothing;
  const ordered_json::json_pointer pointer(place);
  return json.contains(pointer) ? json.at(pointer) : nothing;
}

std::string text_at(const ordered_json& json, const char* place, const char* otherwise) {
  const ordered_json& value = value_at(json, place);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

}  // namespace headroom
