#include "page/template.hpp"

#include <zlib.h>

#include <new>
#include <utility>
#include <vector>

#include "core/text/shown.hpp"
#include "headroom/version.hpp"

namespace headroom::page {
// One pass, so that a placeholder inside a filled-in value stays as it is.
std::string filled(std::string_view text, const Places& places) {
  std::string result;
  while (!text.empty()) {
    const std::size_t start = text.find("{{");
    const std::size_t end = text.find("}}", start);
    if (end == std::string_view::npos) break;
    const auto place = places.find(text.substr(start + 2, end - start - 2));
    result += text.substr(0, start);
    result += place == places.end() ? text.substr(start, end + 2 - start) : place->second;
    text.remove_prefix(end + 2);
  }
  return result.append(text);
}

std::string filled(std::string_view text, Head head, Places places) {
  places["version"] = HEADROOM_VERSION;
  places["command"] = std::move(head.command);
  places["title"] = std::move(head.title);
  places["style"] = std::move(head.style);
  places["script_policy"] = head.scripts ? "script-src 'unsafe-inline'; " : "";
  return filled(text, places);
}

std::string packed(std::string_view text) {
  auto size = compressBound(static_cast<uLong>(text.size()));
  std::vector<unsigned char> bytes(size + 2);  // padding for the last group of three
  if (compress2(bytes.data(), &size, reinterpret_cast<const unsigned char*>(text.data()),
                static_cast<uLong>(text.size()), Z_BEST_COMPRESSION) != Z_OK) {
    throw std::bad_alloc();  // the buffer is large enough, so only memory can be missing
  }
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string digits;
  digits.reserve(size / 3 * 4 + 4);
  for (std::size_t i = 0; i < size; i += 3) {
    const unsigned group = (unsigned{bytes[i]} << 16) |
                           (unsigned{i + 1 < size ? bytes[i + 1] : 0U} << 8) |
                           unsigned{i + 2 < size ? bytes[i + 2] : 0U};
    digits += kDigits[group >> 18];
    digits += kDigits[group >> 12 & 63];
    digits += i + 1 < size ? kDigits[group >> 6 & 63] : '=';
    digits += i + 2 < size ? kDigits[group & 63] : '=';
  }
  return digits;
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : shown_lines(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace headroom::page
