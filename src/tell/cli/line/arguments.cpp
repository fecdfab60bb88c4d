#include "cli/line/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "core/text/trimmed.hpp"
#include "headroom/error.hpp"

namespace headroom::cli {
namespace {

constexpr std::int64_t kMaxFile = std::int64_t{1} << 20;

// An option and its value stay one word, so that the value may contain anything.
std::string word_of(std::string_view line) {
  const std::size_t end = line.find_first_of(" \t=");
  if (!line.starts_with("--") || end == std::string_view::npos || line[end] == '=')
    return std::string(line);
  return fmt::format("{}={}", line.substr(0, end), trimmed(line.substr(end)));
}

void append_file(const std::string& path, std::vector<std::string>& words) {
  const std::string text = read_regular_file(path, kMaxFile);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t stop = std::min(text.find('\n', start), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(start, stop - start));
    start = stop + 1;
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '@') {
      throw InvalidArgument(
          fmt::format("{}: '{}' names another file of options; write its lines here",
                      shown_path(path), shown_text(line)));
    }
    words.push_back(word_of(line));
  }
}

}  // namespace

std::vector<std::string> expand_arguments(int count, const char* const* arguments) {
  std::vector<std::string> words;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word.size() > 1 && word.front() == '@') {
      append_file(word.substr(1), words);
    } else {
      words.push_back(word);
    }
  }
  return words;
}

}  // namespace headroom::cli
