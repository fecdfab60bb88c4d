#include "cli/output.hpp"

#include <cerrno>

namespace headroom::cli {

void Output::write(std::string_view text) {
  if (error_ != 0) return;
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) error_ = errno;
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
  errors.print("headroom: {}: {}\n", kind, message);
  errors.flush();
}

}  // namespace headroom::cli
