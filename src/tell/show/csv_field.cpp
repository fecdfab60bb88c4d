#include "show/csv_field.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

#include "core/text/shown.hpp"

namespace headroom::show {
namespace {

// RFC 4180: a field with special characters is quoted, and quotes within it are doubled.
std::string quoted_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

bool is_number_text(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// A spreadsheet computes what begins like this, and a formula may fetch what it likes: an
// apostrophe makes it text.
std::string inert_field(const std::string& text) {
  const bool formula =
      !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
  return formula && !is_number_text(text) ? "'" + text : text;
}

}  // namespace

std::string csv_field(const std::string& text) {
  return quoted_field(inert_field(shown_text(text)));
}

}  // namespace headroom::show
