// Standard output that may go away: a closed pipe must not cost a result.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace headroom::cli {

/// Remembers the first error of its stream instead of throwing it at whoever prints.
class Output {
 public:
  explicit Output(std::FILE* stream) : stream_(stream) {}

  void write(std::string_view text);

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    write(fmt::format(format, std::forward<Args>(args)...));
  }

  /// Sends what is buffered. @return 0, or the error number of the first failure.
  int flush();

 private:
  std::FILE* stream_;
  int error_ = 0;
};

/// Results.
Output& out();

/// One line on standard error, with the program's name before it.
void complain(std::string_view kind, std::string_view message);

}  // namespace headroom::cli
