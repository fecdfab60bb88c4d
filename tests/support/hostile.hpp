// Text that whoever wrote a file may have put there, and what must not be left of it.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::test {

/// Steers a terminal in six ways, begins a line of its own, and means something to HTML, Markdown
/// and a shell.
inline const std::string kHostile = std::string("=1+1\x1b[31m\a\u009b2J\u202e\u2028") + '\0' +
                                    "</td><script>alert(1)</script>|`$(id)`'\"\nFORGED\r\x7f";

/// Empty if a terminal prints the text as it is, otherwise the first place that it would obey.
inline std::string obeyed(std::string_view text) {
  const auto near = [&](std::size_t at) {
    return nlohmann::json(std::string(text.substr(at < 60 ? 0 : at - 60, 120)))
        .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool line_end = text[i] == '\n' || text[i] == '\t' || text.substr(i, 2) == "\r\n";
    if ((byte < 0x20 && !line_end) || byte == 0x7f) return near(i);
  }
  for (const std::string_view mark : {"\u009b", "\u202e", "\u2028", "\nFORGED"}) {
    if (const std::size_t at = text.find(mark); at != std::string_view::npos) return near(at);
  }
  return "";
}

/// The same for a page or a Markdown file, where markup must be text as well.
inline std::string rendered(std::string_view text) {
  const std::size_t at = text.find("<script>alert");
  return at == std::string_view::npos ? obeyed(text) : std::string(text.substr(at, 60));
}

/// A place of a JSON document whose text, or whose last key, can be replaced.
struct HostilePlace {
  nlohmann::ordered_json::json_pointer place;
  bool key = false;
};

/// Every text and every key of the document.
inline void add_places(const nlohmann::ordered_json& json,
                       const nlohmann::ordered_json::json_pointer& at,
                       std::vector<HostilePlace>& places) {
  if (json.is_string()) places.push_back({at, false});
  for (std::size_t i = 0; json.is_array() && i < json.size(); ++i) {
    add_places(json[i], at / i, places);
  }
  if (!json.is_object()) return;
  for (const auto& item : json.items()) {
    places.push_back({at / item.key(), true});
    add_places(item.value(), at / item.key(), places);
  }
}

inline nlohmann::ordered_json made_hostile(nlohmann::ordered_json json, const HostilePlace& where) {
  if (!where.key) {
    json[where.place] = kHostile;
    return json;
  }
  nlohmann::ordered_json& object = json[where.place.parent_pointer()];
  nlohmann::ordered_json renamed = nlohmann::ordered_json::object();
  for (const auto& item : object.items()) {
    renamed[item.key() == where.place.back() ? kHostile : item.key()] = item.value();
  }
  object = renamed;
  return json;
}

}  // namespace headroom::test
