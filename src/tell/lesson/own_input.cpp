#include "lesson/own_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "weights/npy.hpp"

namespace headroom::lesson {
namespace {

constexpr std::string_view kSeparators = " \t\r,;";
constexpr std::size_t kShownText = 24;
constexpr std::size_t kMostWordBytes = 64;

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t start = line.find_first_not_of(kSeparators);
    if (start == std::string_view::npos) return fields;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find_first_of(kSeparators), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<float> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  float number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return {};
  return number;
}

// The beginning, for messages.
std::string shown(std::string_view text) { return shown_start(text, kShownText); }

bool fits(std::int64_t tokens, std::int64_t width) {
  return tokens <= kMostTokens && width <= kMostWidth;
}

std::string limits() {
  return fmt::format("a lesson shows at most {} tokens and a width of {}", kMostTokens, kMostWidth);
}

class TableReader {
 public:
  explicit TableReader(std::string name) : name_(std::move(name)) {}

  void read_line(std::string_view line) {
    ++line_;
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.empty() || fields[0].starts_with('#')) return;
    check_width(fields);
    subject_.words.push_back(word_of(fields[0]));
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const std::optional<float> number = number_of(fields[i]);
      if (!number) {
        fail(fmt::format("'{}' in column {}; needed is a finite number such as 0.43",
                         shown(fields[i]), i + 1));
      }
      subject_.x.values.push_back(*number);
    }
    check_size();
  }

  Subject finish() {
    if (subject_.words.empty()) {
      throw FileError(
          fmt::format("{}: no line with a word and numbers; write one per token, such as: journey "
                      "0.55 0.87 0.66",
                      name_));
    }
    subject_.x.rows = static_cast<std::int64_t>(subject_.words.size());
    subject_.x.cols = static_cast<std::int64_t>(width_);
    subject_.source = name_;
    return std::move(subject_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FileError(fmt::format("{}: line {}: found {}", name_, line_, what));
  }

  std::string word_of(std::string_view field) const {
    if (field.size() > kMostWordBytes) {
      fail(fmt::format("a word of {} bytes, '{}'; allowed are {}", field.size(), shown(field),
                       kMostWordBytes));
    }
    return shown_text(field);
  }

  void check_width(const std::vector<std::string_view>& fields) {
    const std::size_t numbers = fields.size() - 1;
    if (numbers == 0) {
      fail(fmt::format("only '{}'; needed are a word and its numbers, separated by blanks",
                       shown(fields[0])));
    }
    if (width_ == 0) {
      width_ = numbers;
      first_line_ = line_;
    }
    if (numbers != width_) {
      fail(fmt::format("{} numbers; line {} has {}, and every line needs as many", numbers,
                       first_line_, width_));
    }
  }

  void check_size() const {
    const auto tokens = static_cast<std::int64_t>(subject_.words.size());
    const auto width = static_cast<std::int64_t>(width_);
    if (fits(tokens, width)) return;
    fail(fmt::format("{} tokens of width {}; {}; use fewer lines", tokens, width, limits()));
  }

  std::string name_;
  Subject subject_;
  std::int64_t line_ = 0;
  std::int64_t first_line_ = 0;
  std::size_t width_ = 0;
};

// A text table is checked number by number.
void check_finite(const Subject& subject, const std::string& path) {
  const auto bad = std::find_if(subject.x.values.begin(), subject.x.values.end(),
                                [](float value) { return !std::isfinite(value); });
  if (bad == subject.x.values.end()) return;
  const std::int64_t at = bad - subject.x.values.begin();
  throw FileError(fmt::format("{}: found {} in row {}, column {}; needed are finite numbers", path,
                              *bad, at / subject.x.cols + 1, at % subject.x.cols + 1));
}

bool is_npy(const weights::ByteSource& bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (bytes.size() < static_cast<std::int64_t>(kMagic.size())) return false;
  std::string first(kMagic.size(), ' ');
  bytes.read(0, first);
  return first == kMagic;
}

Subject npy_subject(const weights::ByteSource& bytes) {
  const std::string path = shown_path(bytes.path());
  const weights::NpyHeader header = weights::read_npy_header(bytes);
  const std::vector<std::int64_t>& dims = header.dims;
  const bool known = (dims.size() == 2 || dims.size() == 3) && header.count > 0;
  const std::string shape = fmt::format("shape ({})", fmt::join(dims, ", "));
  if (!known) {
    throw FileError(fmt::format("{}: found {}; needed is (T, d_in) or (B, T, d_in), none of them 0",
                                path, shape));
  }
  Subject subject;
  subject.batch = dims.size() == 3 ? dims[0] : 1;
  const std::int64_t tokens = dims[dims.size() - 2];
  if (subject.batch > kMostTokens || tokens > kMostTokens ||
      !fits(subject.batch * tokens, dims.back())) {
    throw FileError(fmt::format("{}: found {}; {}; use a part of it", path, shape, limits()));
  }
  subject.x = Matrix(subject.batch * tokens, dims.back());
  subject.x.values = weights::read_npy(bytes).values;
  subject.words = numbered_tokens(tokens);
  subject.source = path;
  check_finite(subject, path);
  return subject;
}

}  // namespace

Subject parse_text_table(std::string_view text, const std::string& name) {
  TableReader reader(name);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

Subject read_input(const std::filesystem::path& path) {
  constexpr std::int64_t kMostBytes = 8 << 20;
  const weights::FileBytes bytes(path);
  if (is_npy(bytes)) return npy_subject(bytes);
  return parse_text_table(read_regular_file(path, kMostBytes), shown_path(path));
}

}  // namespace headroom::lesson
