#include "cli/line/output.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/environment_variable.hpp"
#include "core/text/shown.hpp"
#include "program/quiet.hpp"

namespace headroom::cli {
namespace {

// The convention of no-color.org: any text in NO_COLOR but an empty one turns colours off.
bool in_colour(std::FILE* stream) {
  return isatty(fileno(stream)) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

const char* colour_of(std::string_view kind) {
  if (kind == "error") return "\x1b[1;31m";
  return kind == "warning" ? "\x1b[1;33m" : "\x1b[1m";
}

}  // namespace

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
  if (is_quiet() && kind == kNote) return;
  out().flush();  // so that both streams stay in order on a terminal
  // Put together here, because an Output lets no colour through.
  const bool colours = in_colour(stderr);
  const std::string line = fmt::format("headroom: {}{}:{} {}\n", colours ? colour_of(kind) : "",
                                       kind, colours ? "\x1b[0m" : "", shown_text(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace headroom::cli
