// How deep a JSON text nests, before anybody parses it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace headroom {

/// As deep as files that this program reads may nest.
inline constexpr std::size_t kMostNesting = 64;

/// How deep lists and objects stand in each other. What a stranger nests a hundred thousand deep
/// ends the process: where an object has several keys the parser copies what it has read, and a
/// copy takes a call for each level.
inline std::size_t nesting_of(std::string_view text) {
  std::size_t depth = 0;
  std::size_t most = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return most;
}

}  // namespace headroom
