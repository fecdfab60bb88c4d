// A user's own numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "lesson/subject.hpp"

namespace headroom::lesson {

/// The most that a lesson shows: more can neither be read nor drawn.
inline constexpr std::int64_t kMostTokens = 256;
inline constexpr std::int64_t kMostWidth = 512;

/// A `.npy` file of shape `(T, d_in)` or `(B, T, d_in)`, known by its first bytes, or else a text
/// table.
/// @throws FileError with path, place, what was found and what is allowed.
Subject read_input(const std::filesystem::path& path);

/// A table as text: on each line a word, then its numbers, separated by blanks or commas. Empty
/// lines and lines that begin with `#` are skipped.
/// @param name of the file, for messages
/// @throws FileError with name, line, what was found and what is allowed.
Subject parse_text_table(std::string_view text, const std::string& name);

}  // namespace headroom::lesson
