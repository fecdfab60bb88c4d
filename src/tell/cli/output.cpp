#include "cli/output.hpp"

#include <cerrno>
#include <string>

#include "core/text/shown.hpp"

namespace headroom::cli {

void Output::write(std::string_view text) {
  if (error_ != 0) return;
  const std::string shown = shown_lines(text);
  if (std::fwrite(shown.data(), 1, shown.size(), stream_) != shown.size()) error_ = errno;
}

int Output::flush() {
  if (std::fflush(stream_) != 0 && error_ == 0) error_ = errno;
  return error_;
}

Output& out() {
  static Output output(stdout);
  return output;
}

void complain(std::string_view kind, std::string_view message) {
  out().flush();  // so that both streams stay in order on a terminal
  Output errors(stderr);
  errors.print("headroom: {}: {}\n", kind, shown_text(message));
  errors.flush();
}

}  // namespace headroom::cli
