// A process that measures the cells of one group, so that a crash does not end the sweep.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "measure/group_measurement.hpp"

namespace headroom::measure {

/// How a worker ended.
struct WorkerEnd {
  bool complete = false;   ///< it measured the whole group
  std::string reason;      ///< otherwise why it ended, such as "died of SIGSEGV (...)"
  std::string last_start;  ///< the last `started` that it sent
};

/// What the parent does with a worker's events.
struct WorkerEvents {
  std::function<void(const std::string& what)> started;
  /// A line of `results.jsonl`. The worker waits until this returns, because writing to disk must
  /// not disturb the timing of the next rival.
  std::function<void(const std::string& line)> finished;
  /// Called several times per second; true ends the worker at once.
  std::function<bool()> stopped;
  double timeout =
      0;  ///< seconds without a message, and ten times what the worker announced, until it is ended
};

/// Such as "died of SIGSEGV (...)". @param status as waitpid() returns it
std::string describe_end(int status);

/// Runs `measure_group` in a forked process and returns when that has ended. The worker never
/// outlives this process or this call. Returns nothing for a worker that was stopped.
/// @pre this process has no other thread, because a fork copies only the calling one.
/// @throws ResourceError if no process can be created; what the events throw.
std::optional<WorkerEnd> run_worker(const plan::Group& group, const MeasureSettings& settings,
                                    plan::Estimator& estimator, const WorkerEvents& events);

}  // namespace headroom::measure
