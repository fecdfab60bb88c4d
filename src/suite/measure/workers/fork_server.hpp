// A process that holds what all measurements of a group share, and forks one for each of them. A
// crash ends that one; what differs from launch to launch differs between them.
#pragma once

#include <optional>
#include <string>

#include "measure/group/group_measurement.hpp"
#include "measure/observer.hpp"
#include "measure/workers/child_process.hpp"

namespace headroom::measure {

/// How a process that measured a round ended.
struct WorkerEnd {
  bool stopped = false;      ///< the observer wanted that
  bool complete = false;     ///< it measured the whole round
  bool server_lost = false;  ///< the server is of no more use
  std::string reason;        ///< otherwise why it ended, such as "died of SIGSEGV (...)"
  std::string last_start;    ///< the last `started` that it sent
};

/// The server never outlives this object, nor do the processes that it forks.
/// @pre this process has no other thread, because a fork copies only the calling one.
class ForkServer {
 public:
  /// Forks the server, which draws weights and computes the expected result before its first round.
  /// All references must outlive this object.
  /// @throws ResourceError if no process can be created.
  ForkServer(const plan::Group& group, const Settings& settings, plan::Estimator& estimator);

  /// Measures a round in a new process, which waits after each part until the next one is asked
  /// for, because nothing must disturb the timing of the next rival.
  void begin(const Round& round);

  /// Waits for a `Part`, as `to_text` writes it. Nothing once the process has ended, and `end` says
  /// how.
  /// @param observer hears what starts, and may stop the process at once
  /// @param timeout seconds without a message, and ten times what the process announced, until it
  ///        is ended
  /// @throws ResourceError if the system refuses what the measurement needs.
  std::optional<std::string> next(Observer& observer, double timeout);
  const WorkerEnd& end() const { return end_; }

 private:
  bool listen(Observer& observer, double timeout);
  void take_messages(Observer& observer);
  void take(char kind, const std::string& text, Observer& observer);
  void lose(const std::string& why);

  ChildProcess process_;
  std::string text_;                 // received, and not yet a whole message
  std::optional<std::string> part_;  // received, and not yet answered
  bool done_ = false;
  double expected_ = 0;  // seconds of the step that the worker announced last
  WorkerEnd end_;
};

}  // namespace headroom::measure
