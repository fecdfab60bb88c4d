// A process that holds what all measurements of a group share, and forks one for each of them. A
// crash ends that one; what differs from launch to launch differs between them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "measure/group/group_measurement.hpp"
#include "measure/workers/child_process.hpp"

namespace headroom::measure {

/// How a process that measured a round ended.
struct WorkerEnd {
  bool complete = false;     ///< it measured the whole round
  bool server_lost = false;  ///< the server is gone, too
  std::string reason;        ///< otherwise why it ended, such as "died of SIGSEGV (...)"
  std::string last_start;    ///< the last `started` that it sent
};

/// What the parent does with a worker's events.
struct WorkerEvents {
  std::function<void(const std::string& what)> started;
  /// A `Part`, as `to_text` writes it. The worker waits until this returns, because nothing must
  /// disturb the timing of the next rival.
  std::function<void(const std::string& part)> finished;
  /// Called several times per second; true ends the worker at once.
  std::function<bool()> stopped;
  /// Seconds without a message, and ten times what the worker announced, until it is ended.
  double timeout = 0;
};

/// The server never outlives this object, nor do the processes that it forks.
/// @pre this process has no other thread, because a fork copies only the calling one.
class ForkServer {
 public:
  /// Forks the server, which draws weights and computes the expected result before its first round.
  /// All references must outlive this object.
  /// @throws ResourceError if no process can be created.
  ForkServer(const plan::Group& group, const Settings& settings, plan::Estimator& estimator);

  /// Measures a round in a new process. Returns nothing if that was stopped; then, or if the server
  /// was lost, this object is of no more use.
  /// @throws ResourceError if the system refuses what the measurement needs; what the events throw.
  std::optional<WorkerEnd> measure(const Round& round, const WorkerEvents& events);

 private:
  ChildProcess process_;
};

}  // namespace headroom::measure
