// Text that others wrote, as it may be shown: a terminal obeys escapes, and a reader is misled by
// letters that change their order.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "headroom/export.h"

namespace headroom {

/// Foreign text for one line of a message, a table or a page: from a file, a path, the environment
/// or another process. Control characters (C0, DEL and C1), line separators and marks of the
/// direction of writing become `\u202e`, bytes that are no UTF-8 `\xff`, line breaks and tabs `\n`,
/// `\r`, `\t`. All else stays as it is, so nothing changes by showing it twice.
HEADROOM_API std::string shown_text(std::string_view text);

/// The same for the first `most` bytes, with `...` where there was more.
HEADROOM_API std::string shown_start(std::string_view text, std::size_t most);

inline std::string shown_path(const std::filesystem::path& path) {
  return shown_text(path.native());
}

/// A document of several lines: as `shown_text`, but line breaks and tabs stay. Of JSON the values
/// stay the same, because within its texts `\u202e` is the same letter.
HEADROOM_API std::string shown_lines(std::string_view text);

}  // namespace headroom
