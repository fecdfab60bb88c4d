#include "program/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "headroom/error.hpp"

namespace headroom {
namespace {

constexpr std::size_t kMaxValues = 100'000;
constexpr const char* kGrammar = "give a list or range such as 1,2,8 or 1-8+1 or 1-64*2";

[[noreturn]] void fail(std::string_view option, std::string_view found, const std::string& why) {
  throw InvalidArgument(fmt::format("{}: '{}' {}", option, found, why));
}

// The number at the start of `text`, which is removed from it.
std::int64_t take_number(std::string_view option, std::string_view whole, std::string_view& text,
                         const std::string& otherwise) {
  std::int64_t value = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') fail(option, whole, otherwise);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    fail(option, whole,
         fmt::format("is too large; the limit is {}", std::numeric_limits<std::int64_t>::max()));
  }
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

void check_least(std::string_view option, std::string_view whole, std::int64_t value,
                 std::int64_t least) {
  if (value < least)
    fail(option, whole, fmt::format("contains {}; the smallest value is {}", value, least));
}

struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  char operation = '+';
  std::int64_t step = 1;
};

void check_range(std::string_view option, std::string_view item, const Range& range) {
  if (range.first > range.last) {
    fail(option, item,
         fmt::format("runs from {} down to {}; put the smaller number first", range.first,
                     range.last));
  }
  const bool adds = range.operation == '+';
  if (range.step < (adds ? 1 : 2) || (!adds && range.first == 0)) {
    fail(option, item,
         "never ends; a step must be at least 1 (1-8+1), a factor at least 2 and its start at "
         "least 1 (1-64*2)");
  }
}

void append_range(std::string_view option, std::string_view item, const Range& range,
                  std::vector<std::int64_t>& values) {
  check_range(option, item, range);
  for (std::int64_t value = range.first; value <= range.last;) {
    if (values.size() >= kMaxValues) {
      fail(option, item, fmt::format("has more than {} numbers; use a larger step", kMaxValues));
    }
    values.push_back(value);
    const bool overflow = range.operation == '+'
                              ? __builtin_add_overflow(value, range.step, &value)
                              : __builtin_mul_overflow(value, range.step, &value);
    if (overflow) return;
  }
}

void append_item(std::string_view option, std::string_view item, std::int64_t least,
                 std::vector<std::int64_t>& values) {
  const std::string otherwise =
      fmt::format("is not a positive whole number or a list of them; {}", kGrammar);
  std::string_view rest = item;
  Range range;
  range.first = take_number(option, item, rest, otherwise);
  check_least(option, item, range.first, least);
  if (rest.empty()) {
    values.push_back(range.first);
    return;
  }
  const auto expect = [&](std::string_view allowed) {
    if (rest.empty() || allowed.find(rest.front()) == std::string_view::npos) {
      fail(option, item,
           fmt::format("is not understood{}; {}",
                       rest.empty() ? "" : fmt::format(" from '{}' on", rest), kGrammar));
    }
    const char found = rest.front();
    rest.remove_prefix(1);
    return found;
  };
  expect("-");
  range.last = take_number(option, item, rest, otherwise);
  range.operation = expect("+*");
  range.step = take_number(option, item, rest, otherwise);
  if (!rest.empty()) expect("");
  append_range(option, item, range, values);
}

template <std::size_t N>
double parse_with_unit(std::string_view option, std::string_view text,
                       const std::array<std::pair<std::string_view, double>, N>& units,
                       const char* examples) {
  double value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  if (error == std::errc() && std::isfinite(value) && value > 0) {
    for (const auto& [name, factor] : units) {
      if (name == unit) return value * factor;
    }
  }
  fail(option, text, fmt::format("is not understood; give a positive amount such as {}", examples));
}

int at_most(std::string_view option, std::int64_t count, int most) {
  if (count <= most) return static_cast<int>(count);
  throw InvalidArgument(fmt::format("{}: {} is too many; the limit is {}", option, count, most));
}

}  // namespace

std::vector<std::int64_t> parse_numbers(std::string_view option, std::string_view text,
                                        std::int64_t least) {
  std::vector<std::int64_t> values;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view item = text.substr(start, comma - start);
    if (item.empty()) fail(option, text, fmt::format("contains an empty item; {}", kGrammar));
    append_item(option, item, least, values);
    start = comma + 1;
  }
  return values;
}

std::int64_t parse_number(std::string_view option, std::string_view text, std::int64_t least) {
  const std::string otherwise =
      fmt::format("is not a whole number; give one, such as {}", std::max<std::int64_t>(least, 1));
  std::string_view rest = text;
  const std::int64_t value = take_number(option, text, rest, otherwise);
  if (!rest.empty()) fail(option, text, otherwise);
  check_least(option, text, value, least);
  return value;
}

std::vector<int> parse_counts(std::string_view option, std::string_view text, int most) {
  std::vector<int> counts;
  for (const std::int64_t count : parse_numbers(option, text)) {
    counts.push_back(at_most(option, count, most));
  }
  return counts;
}

int parse_count(std::string_view option, std::string_view text, int most) {
  return at_most(option, parse_number(option, text), most);
}

std::uint64_t parse_seed(std::string_view text) {
  return static_cast<std::uint64_t>(parse_number("--seed", text, 0));
}

double parse_real(std::string_view option, std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) {
    fail(option, text, "is not a number; write it as 0.1");
  }
  return value;
}

std::int64_t parse_bytes(std::string_view option, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 14> kUnits{{{"", 1},
                                                                        {"B", 1},
                                                                        {"KiB", 0x1p10},
                                                                        {"MiB", 0x1p20},
                                                                        {"GiB", 0x1p30},
                                                                        {"TiB", 0x1p40},
                                                                        {"K", 0x1p10},
                                                                        {"M", 0x1p20},
                                                                        {"G", 0x1p30},
                                                                        {"T", 0x1p40},
                                                                        {"KB", 1e3},
                                                                        {"MB", 1e6},
                                                                        {"GB", 1e9},
                                                                        {"TB", 1e12}}};
  const double bytes = parse_with_unit(option, text, kUnits, "16GiB, 512MiB or 16GB");
  if (bytes >= 0x1p63) fail(option, text, "is too large; it must be below 2^63 bytes");
  return static_cast<std::int64_t>(bytes);
}

double parse_duration(std::string_view option, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits{
      {{"s", 1}, {"m", 60}, {"h", 3600}}};
  // So that a count of passes, which may take some nanoseconds each, fits into 64 bits.
  constexpr double kMost = 1e9;
  if (!text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos) {
    fail(option, text, fmt::format("has no unit; give {0}s, {0}m or {0}h", text));
  }
  const double seconds = parse_with_unit(option, text, kUnits, "90s, 10m or 1.5h");
  if (seconds > kMost) {
    fail(option, text, fmt::format("is too long; the limit is {:.0f} seconds", kMost));
  }
  return seconds;
}

double parse_seconds(std::string_view option, std::string_view text) {
  const bool bare = !text.empty() && text.back() >= '0' && text.back() <= '9';
  return parse_duration(option, bare ? fmt::format("{}s", text) : std::string(text));
}

double parse_percent(std::string_view option, std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const bool understood = error == std::errc() && stop + 1 == end && *stop == '%' &&
                          !std::signbit(value) && value <= 100;
  if (!understood) {
    fail(option, text, "is not a percentage; give 0% to 100%, such as 3% or 0.5%");
  }
  return value / 100;
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.4g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} s", seconds);
}

std::string format_share(double share, int digits) {
  return fmt::format("{:.{}f} %", 100 * share, digits);
}

std::string format_wait(double seconds) {
  if (seconds < 0.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::min(std::ceil(seconds), 1e15));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
}

}  // namespace headroom
