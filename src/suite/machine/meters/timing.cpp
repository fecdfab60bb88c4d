#include "machine/meters/timing.hpp"

#include <algorithm>
#include <map>

#include "machine/meters/benchmark_compat.hpp"

namespace headroom::machine {
namespace {

// Google Benchmark keeps its settings in globals, so one call sets ours for the whole process.
void initialise_once() {
  static const bool done = [] {
    static std::string program = "headroom";
    static std::string interleave = "--benchmark_enable_random_interleaving=true";
    char* arguments[] = {program.data(), interleave.data(), nullptr};
    int count = 2;
    benchmark::Initialize(&count, arguments);
    return true;
  }();
  static_cast<void>(done);
}

constexpr const char* kControl = "control";
constexpr const char* kClock = "clock";
constexpr const char* kTile = "tile";

// Nothing unless both readings have a value.
void count_mean(benchmark::State& state, const char* name, const std::optional<double>& before,
                const std::optional<double>& after) {
  if (before && after) state.counters[name] = 0.5 * (*before + *after);
}

void count_usage(benchmark::State& state, const Usage& usage) {
  const auto passes = static_cast<double>(state.iterations());
  for (const UsageKind& kind : kUsageKinds) {
    const std::optional<double>& value = usage.*kind.of_sample;
    if (value) state.counters[kind.name] = kind.per_pass ? *value / passes : *value;
  }
}

// A benchmark passes numbers to its reporter as counters.
void run_sample(benchmark::State& state, const TimedTask& task) {
  const Reading before = task.control ? task.control() : Reading{};
  if (task.before) task.before();
  if (task.usage != nullptr) task.usage->begin();
  for (auto _ : state) task.run();
  if (task.usage != nullptr) count_usage(state, task.usage->end());
  if (!task.control) return;
  const Reading after = task.control();
  count_mean(state, kControl, before.gflops, after.gflops);
  count_mean(state, kClock, before.clock_ghz, after.clock_ghz);
  count_mean(state, kTile, before.tile_gflops, after.tile_gflops);
}

// Stops a task. Google Benchmark aborts the process if only some repetitions of a benchmark are
// skipped, so one that has begun runs empty loops to its end.
struct Drop {
  bool begun = false;
  bool dropped = false;
};

void append(const benchmark::UserCounters& counters, const char* name,
            std::vector<double>& values) {
  const auto counter = counters.find(name);
  if (counter != counters.end()) values.push_back(counter->second.value);
}

// Passes samples on instead of printing them.
class CapturingReporter final : public benchmark::BenchmarkReporter {
 public:
  CapturingReporter(const std::vector<TimedTask>& tasks, const OnTimed& done) : done_(done) {
    for (std::size_t i = 0; i < tasks.size(); ++i) index_[tasks[i].name] = i;
  }

  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    TimedSamples samples;
    std::string name;
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      if (was_skipped(run)) return;
      name = run.run_name.function_name;
      samples.seconds.push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
      append(run.counters, kControl, samples.control);
      append(run.counters, kClock, samples.clock_ghz);
      append(run.counters, kTile, samples.tile);
      for (const UsageKind& kind : kUsageKinds) {
        append(run.counters, kind.name, samples.usage.*kind.samples);
      }
    }
    if (!samples.seconds.empty()) done_(index_.at(name), samples);
  }

 private:
  std::map<std::string, std::size_t> index_;
  const OnTimed& done_;
};

}  // namespace

void time_interleaved(const std::vector<TimedTask>& tasks, const OnTimed& done,
                      const std::function<bool()>& stopped) {
  initialise_once();
  std::vector<Drop> drops(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TimedTask& task = tasks[i];
    auto body = [&task, &stopped, &drop = drops[i]](benchmark::State& state) {
      drop.dropped = drop.dropped || (stopped && stopped());
      if (drop.dropped && !drop.begun) {
        state.SkipWithError("stopped");
        return;
      }
      drop.begun = true;
      if (drop.dropped) {
        for (auto _ : state) continue;
      } else {
        run_sample(state, task);
      }
    };
    auto* timed = benchmark::RegisterBenchmark(task.name.c_str(), body);
    timed->UseRealTime()->Repetitions(std::max(1, task.repetitions));
    if (task.iterations > 0) {
      timed->Iterations(task.iterations);
    } else {
      timed->MinTime(task.min_time);
    }
  }
  const OnTimed unless_dropped = [&](std::size_t task, const TimedSamples& samples) {
    if (!drops[task].dropped) done(task, samples);
  };
  CapturingReporter reporter(tasks, unless_dropped);
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
}

std::string benchmark_library_version() {
#ifdef HEADROOM_BENCHMARK_VERSION
  return HEADROOM_BENCHMARK_VERSION;
#else
  return "";
#endif
}

}  // namespace headroom::machine
