// Standard output that may be closed early, which must not lose a result.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace headroom::cli {

/// Remembers the first error of its stream instead of throwing where something is printed.
class Output {
 public:
  explicit Output(std::FILE* stream) : stream_(stream) {}

  /// Nothing that a terminal obeys gets through, whoever wrote it: `shown_lines`.
  void write(std::string_view text);

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    write(fmt::format(format, std::forward<Args>(args)...));
  }

  /// Flushes the buffer. @return 0, or the error number of the first failure.
  int flush();

 private:
  std::FILE* stream_;
  int error_ = 0;
};

/// Standard output, for results only.
Output& out();

inline constexpr std::string_view kNote = "note";

/// Prints one line to standard error, beginning with the program's name: in colour on a terminal,
/// unless NO_COLOR is set. @param kind `error`, `warning` or `kNote`; with `--quiet` notes are left
/// out
void complain(std::string_view kind, std::string_view message);

}  // namespace headroom::cli
