// A forked process at the other end of a socket, and how processes end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

namespace headroom::measure {

/// How long to wait for a child's word before looking at what else there is, such as a signal.
inline constexpr int kPollMilliseconds = 100;

/// Ends the calling process as soon as its parent ends. @param parent the process that forked it
void die_with(pid_t parent);

/// Waits until the process has ended. @return its status, as waitpid() gives it
int wait_for_end(pid_t process);

/// Such as "died of SIGSEGV (...)". @param status as waitpid() returns it
std::string describe_end(int status);

/// A child process. It never outlives this object or its parent, leaves signals to the parent, and
/// has no more memory than it is allowed and a margin.
/// @pre this process has no other thread, because a fork copies only the calling one.
class ChildProcess {
 public:
  /// @param purpose for the message, such as `a worker process`
  /// @param memory_bytes that it may hold in addition to what this process holds already
  /// @param work what it does with its end of the socket; ends the process
  /// @throws ResourceError if the system refuses.
  ChildProcess(const char* purpose, std::int64_t memory_bytes,
               const std::function<void(int socket)>& work);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// This process's end.
  int socket() const { return socket_; }

  /// As `wait_for_end`; 0 if it was waited for before.
  int wait();

 private:
  pid_t process_ = 0;
  int socket_ = -1;
};

}  // namespace headroom::measure
