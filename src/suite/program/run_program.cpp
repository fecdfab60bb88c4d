#include "program/run_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "core/text/shown.hpp"
#include "program/child_program.hpp"
#include "program/exit_code.hpp"
#include "program/files/output_folder.hpp"
#include "program/signals.hpp"

namespace headroom {
namespace {

// The file that the program writes, open as long as this lives.
struct Log {
  explicit Log(const std::filesystem::path& path) : handle(open_output(path, O_WRONLY | O_CREAT)) {
    // Not as it is opened: what turns out to be another's file must stay as it is.
    if (handle < 0 || ::ftruncate(handle, 0) != 0) {
      fail_output("write", path, errno, "free some space or name another folder");
    }
  }
  ~Log() { ::close(handle); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  int handle;
};

}  // namespace

int run_program(const std::string& program, const std::vector<std::string>& arguments,
                const std::filesystem::path& log) {
  const Log output(log);
  try {
    ChildProgram child(program, arguments, {STDIN_FILENO, output.handle, output.handle});
    const std::optional<int> status = child.wait();
    return status ? exit_code_of(*status) : kSignalBase + stop_signal();
  } catch (const std::system_error& error) {
    const bool lost = error.code().value() == ECHILD;
    throw FileError(fmt::format(
        "{}: {}: {}; {}", shown_text(program), lost ? "how it ended is unknown" : "cannot be run",
        error.code().message(), lost ? "leave SIGCHLD at its default" : "name a program"));
  }
}

}  // namespace headroom
