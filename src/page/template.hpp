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

/// Deflated (RFC 1950), then base 64, so that no text from a file can break out of the page.
std::string packed(std::string_view text);

/// Which no text of a page may contain, but for line breaks and tabs.
inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// For an element's text or an attribute; control characters become spaces.
std::string escape_html(std::string_view text);

}  // namespace headroom::page
