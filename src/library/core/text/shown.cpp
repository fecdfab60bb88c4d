#include "core/text/shown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace headroom {
namespace {

// A code point and how many bytes it takes; no bytes if they are no UTF-8.
struct Point {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

// Overlong forms, surrogates and what lies beyond Unicode are refused: another reader may take them
// for the control characters that they spell.
Point first_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t value = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  if (value < kLeast[bytes] || surrogate || value > 0x10ffff) return {};
  return {value, bytes};
}

bool is_hidden(std::uint32_t point) {
  struct Range {
    std::uint32_t first, last;
  };
  // Controls; marks of direction; separators of lines with embeddings and overrides; isolates.
  constexpr Range kUnseen[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
                               {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
  return std::any_of(std::begin(kUnseen), std::end(kUnseen), [&](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

std::string shown_point(std::uint32_t point) {
  switch (point) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", point);
  }
}

// Nearly all there is.
std::size_t plain_bytes(std::string_view text) {
  const auto end =
      std::find_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; });
  return static_cast<std::size_t>(end - text.begin());
}

template <class Keep>
std::string shown_but(std::string_view text, Keep keep) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t plain = plain_bytes(text);
    shown += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Point point = first_point(text);
    const std::string_view bytes = text.substr(0, std::max(point.bytes, std::size_t{1}));
    if (point.bytes == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (is_hidden(point.value) && !keep(text)) {
      shown += shown_point(point.value);
    } else {
      shown += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return shown;
}

}  // namespace

std::string shown_text(std::string_view text) {
  return shown_but(text, [](std::string_view) { return false; });
}

std::string shown_start(std::string_view text, std::size_t most) {
  if (text.size() <= most) return shown_text(text);
  // Not within a code point, of which at most three bytes may lie before the cut.
  const std::size_t least = most - std::min(most, std::size_t{3});
  while (most > least && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80) --most;
  return shown_text(text.substr(0, most)) + "...";
}

std::string shown_lines(std::string_view text) {
  return shown_but(text, [](std::string_view rest) {
    return rest.front() == '\n' || rest.front() == '\t' || rest.starts_with("\r\n");
  });
}

}  // namespace headroom
