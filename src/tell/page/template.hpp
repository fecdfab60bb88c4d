// A page as one file: a template whose places are filled, with its data packed inside.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace headroom::page {

/// What stands at each `{{name}}` of a template.
using Places = std::map<std::string, std::string, std::less<>>;

/// Places without a text stay as they are.
std::string filled(std::string_view text, const Places& places);

/// What stands in the head that every template begins with (`head.html`).
struct Head {
  std::string command;  ///< of the program, that wrote the page: `"report"`
  std::string title;    ///< as HTML
  std::string style;
  bool scripts = false;  ///< whether the page has any; else its browser runs none
};

/// A template with its head.
std::string filled(std::string_view text, Head head, Places places);

/// Deflated (RFC 1950), then base 64, so that no text from a file can break out of the page.
std::string packed(std::string_view text);

/// For an element's text or an attribute, as it may be shown: `shown_lines`.
std::string escape_html(std::string_view text);

}  // namespace headroom::page
