// Every time that headroom reports is measured here, with Google Benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "machine/counters/usage_meter.hpp"

namespace headroom::machine {

/// How fast the machine is at some moment.
struct Reading {
  double gflops = 0;                       ///< of the control
  std::optional<double> clock_ghz = {};    ///< of its threads, right after it
  std::optional<double> tile_gflops = {};  ///< of register tiles on the same threads
};

/// Something to be timed.
struct TimedTask {
  std::string name;
  std::function<void()> run;  ///< one iteration
  int repetitions = 9;        ///< samples to take
  double min_time = 0.05;     ///< least seconds per sample; sets the iterations

  /// Reads the machine's current speed; called right before and right after each sample. May be
  /// empty.
  std::function<Reading()> control = {};
  /// Done before each sample, after the control, and not timed. May be empty.
  std::function<void()> before = {};
  std::int64_t iterations = 0;  ///< per sample, however long they take; 0: from `min_time`
  /// Read after `before` and right after the sample, outside its time. May be null.
  UsageMeter* usage = nullptr;
};

/// The samples of a task.
struct TimedSamples {
  std::vector<double> seconds;    ///< wall-clock time of one iteration
  std::vector<double> control;    ///< mean of the readings around each; empty without a control
  std::vector<double> clock_ghz;  ///< likewise; empty where the control tells no clock
  std::vector<double> tile;       ///< GFLOP/s, likewise; empty where no tiles were run
  UsageSamples usage;             ///< a kind that only some samples tell has fewer than `seconds`
};

/// Called once per task, after its last repetition. Stopped tasks are left out.
using OnTimed = std::function<void(std::size_t task, const TimedSamples& samples)>;

/// Times all tasks with their repetitions interleaved in random order, so that a slow moment of the
/// machine does not hit a single rival.
/// @param stopped asked before each iteration batch; once true, the rest is dropped. May be empty.
void time_interleaved(const std::vector<TimedTask>& tasks, const OnTimed& done,
                      const std::function<bool()>& stopped = {});

/// Version of the Google Benchmark headers; empty where they do not say.
std::string benchmark_library_version();

}  // namespace headroom::machine
