// A process that measures the cells of one group, so that a cell that dies takes nobody along.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "measure/group_measurement.hpp"

namespace headroom::measure {

/// How a worker came to its end.
struct WorkerEnd {
  bool complete = false;   ///< it measured what it was given to the end
  std::string reason;      ///< else: what it died of, such as "died of SIGSEGV (...)"
  std::string last_start;  ///< the last `started` that it sent
};

/// What the parent does with a worker's events.
struct WorkerEvents {
  std::function<void(const std::string& what)> started;
  /// A line of `results.jsonl`. The worker waits until this returns: writing it to the disk must
  /// not disturb the next rival on the stopwatch.
  std::function<void(const std::string& line)> finished;
  /// Asked several times a second; true ends the worker at once.
  std::function<bool()> stopped;
  double timeout =
      0;  ///< seconds without a message, and ten times what the worker announced, until it is ended
};

/// Such as "died of SIGSEGV (...)". @param status as waitpid() has it
std::string describe_end(int status);

/// Runs `measure_group` in a forked process and returns when that has ended; it ends with this
/// process and with this call, however they end. Nothing for a worker that was stopped.
/// To be called while this process has no other thread: a fork takes along only the calling one.
/// @throws ResourceError if no process can be made; what the events throw.
std::optional<WorkerEnd> run_worker(const plan::Group& group, const MeasureSettings& settings,
                                    plan::Estimator& estimator, const WorkerEvents& events);

}  // namespace headroom::measure
