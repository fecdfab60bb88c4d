#include "program/json_text.hpp"

#include <utility>
#include <vector>

#include "core/text/shown.hpp"

namespace headroom {

using nlohmann::ordered_json;

namespace {

bool show_text(ordered_json& text) {
  std::string shown = shown_text(text.get_ref<const std::string&>());
  if (shown == text.get_ref<const std::string&>()) return false;
  text = std::move(shown);
  return true;
}

bool show_keys(ordered_json& object) {
  ordered_json renamed = ordered_json::object();
  bool changed = false;
  for (const auto& item : object.items()) changed = changed || shown_text(item.key()) != item.key();
  if (!changed) return false;
  for (auto& item : object.items()) renamed[shown_text(item.key())] = std::move(item.value());
  object = std::move(renamed);
  return true;
}

}  // namespace

std::string to_text(const ordered_json& json, int indent) {
  return shown_lines(json.dump(indent, ' ', false, ordered_json::error_handler_t::replace));
}

bool show_texts(ordered_json& json) {
  bool changed = false;
  // No recursion: how deep a file nests is up to whoever wrote it.
  for (std::vector<ordered_json*> todo{&json}; !todo.empty();) {
    ordered_json& value = *todo.back();
    todo.pop_back();
    if (value.is_string()) changed = show_text(value) || changed;
    if (value.is_object()) changed = show_keys(value) || changed;
    if (!value.is_structured()) continue;
    for (ordered_json& inner : value) todo.push_back(&inner);
  }
  return changed;
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
