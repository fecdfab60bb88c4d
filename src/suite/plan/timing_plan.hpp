// How a cell is timed: how many samples, how long, and from how many processes.
#pragma once

#include <cstdint>
#include <optional>

#include "machine/meters/peak.hpp"
#include "statistics/samples.hpp"

namespace headroom::plan {

/// Bursts of each kind in one reading of the control, multiply-adds in registers and register
/// tiles; the best of each kind counts. For the same 20 ms, fewer and longer ones scatter more, and
/// more and shorter ones lose a percent to the barrier of two threads: docs/trust.md has the
/// figures.
inline constexpr int kControlBursts = 4;
inline constexpr double kControlBurstSeconds = 0.0025;  ///< of each

/// Seconds of one reading of the control and its clock.
inline constexpr double kReadingSeconds =
    2 * kControlBursts * kControlBurstSeconds + machine::kClockBursts * machine::kClockBurstSeconds;
/// The most that the control takes per sample: a reading before and one after it.
inline constexpr double kControlSeconds = 2 * kReadingSeconds;

/// Passes whose phases are timed if a pass is short; their medians are recorded.
inline constexpr int kPhaseRuns = 5;
/// A pass below this many seconds is short. If the fastest rival of a shape is, it is timed twice.
inline constexpr double kShortPass = 0.2;

/// The least number of samples, if the limit of a cell allows it: with fewer a cell cannot be
/// distinguished from others.
inline constexpr int kMinRepetitions = static_cast<int>(statistics::kLeastSamples);

/// Seconds of samples that a cell gets whose pass takes more than one.
inline constexpr double kSlowSeconds = 9;

/// The most samples of a cell that anybody may ask for.
inline constexpr int kMaxRepetitions = 10'000;

/// The least number of processes that samples come from, if there are as many samples: fewer say
/// nothing of the spread between launches.
inline constexpr int kMinProcesses = 3;
/// What the processes beyond these may add to the time of a cell with one.
inline constexpr double kLaunchShare = 0.3;

/// The samples of one cell.
struct SamplePlan {
  int processes = 1;
  int repetitions = 1;  ///< of all processes together

  /// How many the given process takes; the first ones take one more where they differ.
  int share(int process) const;
};

/// How the cells of a sweep are timed.
struct TimingPlan {
  int repetitions = 16;
  /// That take the samples of a cell, one after the other. Of five, one unlucky launch reaches into
  /// the interval of the median; of eight it takes two.
  int processes = 8;
  double min_time = 0.03;  ///< seconds per sample; with cold caches a sample is one pass
  bool cold = false;       ///< caches are emptied before each sample
  double beside = 0;       ///< seconds per sample spent on the control
  double emptying = 0;     ///< seconds to empty the caches, before each pass

  std::optional<double> cell_limit;  ///< seconds that a cell may take in total

  /// Passes of `forward_seconds` in one sample.
  std::int64_t passes(double forward_seconds) const;

  /// Seconds for one sample, including `beside`.
  double sample_seconds(double forward_seconds) const;

  /// Samples of a cell with passes of `forward_seconds`. Fewer than requested if a pass takes more
  /// than a second, and as few as one if more would exceed the limit. Fewer processes where their
  /// launches would take more than `kLaunchShare` of the rest.
  /// @param launch seconds that each process takes before its first sample
  SamplePlan samples(double forward_seconds, double launch) const;
};

}  // namespace headroom::plan
