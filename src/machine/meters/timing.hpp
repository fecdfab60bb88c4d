// The stopwatch: every time that headroom reports is taken here, by Google Benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headroom::machine {

/// How fast the machine is at some moment.
struct Reading {
  double gflops = 0;                     ///< of the control
  std::optional<double> clock_ghz = {};  ///< of its threads, right after it
};

/// Something to be timed.
struct TimedTask {
  std::string name;
  std::function<void()> run;  ///< one iteration
  int repetitions = 9;        ///< samples to take
  double min_time = 0.05;     ///< seconds a sample lasts at least; iterations follow from it

  /// Reads how fast the machine is just now; taken right before and right after each sample. May be
  /// empty.
  std::function<Reading()> control = {};
  /// Done before each sample, after the control, and not timed. May be empty.
  std::function<void()> before = {};
  std::int64_t iterations = 0;  ///< of each sample, whatever they take; 0: as `min_time` has it
};

/// What the repetitions of a task gave.
struct TimedSamples {
  std::vector<double> seconds;    ///< wall-clock time of one iteration
  std::vector<double> control;    ///< mean of the readings around each; empty without a control
  std::vector<double> clock_ghz;  ///< likewise; empty where the control tells no clock
};

/// Called once a task, when its last repetition is done. Tasks that were stopped are left out.
using OnTimed = std::function<void(std::size_t task, const TimedSamples& samples)>;

/// Times all tasks, their repetitions in random order among each other, so that a slow moment of
/// the machine does not fall on one rival alone.
/// @param stopped asked before each iteration batch; once true, the rest is dropped. May be empty.
void time_interleaved(const std::vector<TimedTask>& tasks, const OnTimed& done,
                      const std::function<bool()>& stopped = {});

/// Version of the Google Benchmark headers, where they tell; else empty.
std::string benchmark_library_version();

}  // namespace headroom::machine
