// Parsing and formatting of numbers as people write them on a command line.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A list of numbers and ranges: `1,2,8`, `1-8+1` (from 1 to 8 in steps of 1), `1-64*2` (from 1 to
/// 64, doubling).
/// @param option named in errors, such as `"--heads"`.
/// @param least the smallest number allowed.
/// @throws InvalidArgument for anything else, for numbers of 2^63 and above, and for ranges that
///         never end, run downwards, or have more than 100,000 members.
std::vector<std::int64_t> parse_numbers(std::string_view option, std::string_view text,
                                        std::int64_t least = 1);

/// One whole number. @throws InvalidArgument as above.
std::int64_t parse_number(std::string_view option, std::string_view text, std::int64_t least = 1);

/// From 1 to `most`. @throws InvalidArgument as above, and for larger ones.
std::vector<int> parse_counts(std::string_view option, std::string_view text, int most);
int parse_count(std::string_view option, std::string_view text, int most);

/// That of `--seed`, from 0. @throws InvalidArgument as above.
std::uint64_t parse_seed(std::string_view text);

/// A finite decimal number. @throws InvalidArgument for anything else.
double parse_real(std::string_view option, std::string_view text);

/// Bytes: `1024`, `512MiB`, `16GiB`, `16G` (the same), `16GB` (powers of 1000: a `B` without an
/// `i`).
std::int64_t parse_bytes(std::string_view option, std::string_view text);

/// Seconds: `90s`, `10m`, `1.5h`. A number without a unit is an error, as 10 may mean any of them.
double parse_duration(std::string_view option, std::string_view text);

/// The same, for an option that is known to be in seconds: a bare number is seconds.
double parse_seconds(std::string_view option, std::string_view text);

/// A share from 0% to 100%: `3%` is 0.03. The percent sign is required.
double parse_percent(std::string_view option, std::string_view text);

/// Such as `1 thread`, `2 threads`.
std::string counted(std::integral auto count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

/// Such as `1.5 GiB`.
std::string format_bytes(std::int64_t bytes);

/// A measured time, such as `1.53 ms`.
std::string format_seconds(double seconds);

/// A share such as `97 %`, or with one digit `97.3 %`.
std::string format_share(double share, int digits = 0);

/// A time to wait, such as `2 m 05 s`.
std::string format_wait(double seconds);

}  // namespace headroom
