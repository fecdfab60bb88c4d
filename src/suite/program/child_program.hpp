// Another program at work.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// A child process. It and all that it started end with the object, and with
/// this process, however that ends.
class ChildProgram {
 public:
  /// The open files that become its standard ones; this process keeps its own.
  struct Files {
    int input, output, errors;
  };

  /// @param program a path, or a name that PATH finds
  /// @throws std::system_error if it cannot be started.
  ChildProgram(const std::string& program, const std::vector<std::string>& arguments, Files files);
  /// Ends what still runs: asks it to end first, and gives it a second.
  ~ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  /// Waits until the program ends by itself.
  /// @param seconds to wait at most; without them it waits as long as it takes
  /// @return its status as of waitpid(2); nothing if time ran out, or once this process is told to
  ///         stop while the program runs; what starts after that, to tidy up, is waited for
  /// @throws std::system_error if how it ended is lost, as where SIGCHLD is ignored.
  std::optional<int> wait(std::optional<double> seconds = std::nullopt);

 private:
  void guard();
  void release_guard();
  void reap(int flags);
  void end();

  pid_t program_ = 0;
  pid_t guard_ = 0;
  int stop_before_;
  int alive_ = -1;  // a pipe whose other end tells the guard that this process is gone
  std::optional<int> status_;
};

/// The exit code, or as shells do 128 plus the signal that ended it. @param status of waitpid(2)
int exit_code_of(int status);

}  // namespace headroom
