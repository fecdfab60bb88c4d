#include "processor/text_file.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

#include "core/text/trimmed.hpp"

namespace headroom::processor {
namespace {

std::optional<std::int64_t> to_number(const std::string& word) {
  std::int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::string> read_line(const std::filesystem::path& path) {
  const std::optional<std::string> text = read_text(path);
  if (!text) return std::nullopt;
  return std::string(trimmed(std::string_view(*text).substr(0, text->find('\n'))));
}

std::optional<std::int64_t> read_number(const std::filesystem::path& path) {
  const std::optional<std::string> line = read_line(path);
  if (!line) return std::nullopt;
  return to_number(line->substr(0, line->find(' ')));
}

std::optional<std::int64_t> number_after(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string value;
    if (words >> name >> value && name == key) return to_number(value);
  }
  return std::nullopt;
}

}  // namespace headroom::processor
