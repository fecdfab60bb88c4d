// The SIMD kernels as oneTBB tasks.

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/version.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/backend.hpp"
#include "backends/simd_backend.hpp"
#include "core/thread_probe.hpp"
#include "headroom/error.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace headroom {
namespace {

/// Tells the thread sanitizer what it cannot see, because oneTBB is not built for it: tasks come
/// after the call that divides the work, and all of them before its return. So races between tasks
/// are found, and nothing else is taken for one.
class TaskOrder {
 public:
#if defined(__SANITIZE_THREAD__)
  TaskOrder() { __tsan_release(&begun_); }
  void task_begins() { __tsan_acquire(&begun_); }
  void task_ends() { __tsan_release(&ended_); }
  void all_ended() { __tsan_acquire(&ended_); }

 private:
  char begun_ = 0;
  char ended_ = 0;
#else
  void task_begins() {}
  void task_ends() {}
  void all_ended() {}
#endif
};

/// By default oneTBB provides no more workers than there are cores, and warns on standard error if
/// more are asked for. Once raised, the limit stays: another layer may still need it. It is never
/// lowered, because that would restrict the caller's own use of TBB.
void allow_workers(int threads) {
  static std::mutex mutex;
  static std::unique_ptr<tbb::global_control> raised;
  static int allowed = tbb::info::default_concurrency();
  const std::lock_guard lock(mutex);
  if (threads <= allowed) return;
  constexpr auto kParallelism = tbb::global_control::max_allowed_parallelism;
  auto wider = std::make_unique<tbb::global_control>(kParallelism, std::size_t(threads));
  raised = std::move(wider);
  allowed = threads;
}

/// Probes the system for threads only if no layer of the process had as many before.
void require_workers(int threads) {
  static std::mutex mutex;
  static int most = 1;
  const std::lock_guard lock(mutex);
  require_threads("tbb", threads, threads - most);
  most = std::max(most, threads);
}

/// Tasks that wait for each other, so that each needs its own thread.
class Gathering {
 public:
  explicit Gathering(int wanted) : wanted_(wanted) {}

  /// Returns when all have arrived, or when none has arrived for a while: oneTBB guarantees no
  /// worker, so there may be fewer.
  void join() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kPatience{20};
    int seen = ++here_;
    Clock::time_point since = Clock::now();
    while (!over_ && here_ < wanted_) {
      if (const int now = here_; now != seen) {
        seen = now;
        since = Clock::now();
      } else if (Clock::now() - since > kPatience) {
        over_ = true;
      }
      std::this_thread::yield();
    }
  }

 private:
  int wanted_;
  std::atomic<int> here_{0};
  std::atomic<bool> over_{false};
};

/// Whether calls follow each other so closely that workers are awake. Idle workers look for tasks
/// for a while before they sleep, and waking one costs 20 to 60 us (two cores, layers of one to
/// four heads with 0.4 ms of other work between the calls). Workers serve all layers of a process,
/// so there is one of these.
class Streak {
 public:
  /// Whether work of so many seconds is worth dividing now.
  bool pays(double seconds) {
    constexpr double kPaysAsleep = 100e-6;
    const std::int64_t now = ticks();
    if (Clock::duration(now - end_) > kPause) start_ = now;
    // Waking costs a tenth of a streak at most.
    return seconds >= kPaysAsleep || Clock::duration(now - start_) > kWorthWaking;
  }
  /// To be called after work that was asked about.
  void ended() { end_ = ticks(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kPause{50};
  static constexpr std::chrono::microseconds kWorthWaking{500};

  static std::int64_t ticks() { return Clock::now().time_since_epoch().count(); }

  std::atomic<std::int64_t> start_{0};
  std::atomic<std::int64_t> end_{0};
};

/// An arena of exactly the requested size, so that neither the allowed cores nor the caller's own
/// use of TBB can change the number of threads.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int threads) : threads_(threads), arena_(threads) {
    require_workers(threads);
    allow_workers(threads);
    arena_.initialize();
    start_workers();
  }

  int slots() const override { return threads_; }
  double least_seconds() const override { return kLeastSeconds; }

  using Executor::run;

  void run(std::int64_t count, TaskRef task, double seconds) const override {
    if (count == 1 || seconds < kLeastSeconds) {
      run_alone(count, task);
      return;
    }
    if (streak_.pays(seconds)) {
      divide(count, task);
    } else {
      run_alone(count, task);
    }
    streak_.ended();
  }

 private:
  // Handing tasks to a worker that is awake costs 2 to 3 us (two cores, layers of one and two
  // heads).
  static constexpr double kLeastSeconds = 6e-6;

  static void run_alone(std::int64_t count, TaskRef task) {
    for (std::int64_t i = 0; i < count; ++i) task(i, 0);
  }

  void divide(std::int64_t count, TaskRef task) const {
    TaskOrder order;
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::int64_t>(0, count, 1),
          [&](const tbb::blocked_range<std::int64_t>& range) {
            const int slot = tbb::this_task_arena::current_thread_index();
            order.task_begins();
            for (std::int64_t i = range.begin(); i != range.end(); ++i) task(i, slot);
            order.task_ends();
          },
          tbb::simple_partitioner{});
    });
    order.all_ended();
  }

  // oneTBB starts workers on demand and keeps them. Started here, none has to be started, and none
  // can be refused, in the middle of `forward`.
  void start_workers() const {
    Gathering gathering(threads_);
    auto task = [&](std::int64_t, int) { gathering.join(); };
    try {
      run(threads_, task);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw ResourceError(fmt::format(
          "backend 'tbb' cannot start {} threads: oneTBB says '{}'; ask for fewer, or raise the "
          "limit of processes (ulimit -u, a container's pids.max) or of memory",
          threads_, error.what()));
    }
  }

  static inline Streak streak_;
  int threads_;
  mutable tbb::task_arena arena_;
};

BackendInfo describe() {
  BackendInfo info;
  info.name = "tbb";
  info.description = "the xsimd kernels as oneTBB tasks on all allowed cores";
  info.available = !available_isas().empty();
  if (!info.available)
    info.reason = "this processor has none of the instruction sets of this build";
  info.library = fmt::format("oneTBB {}.{}", TBB_VERSION_MAJOR, TBB_VERSION_MINOR);
  info.threaded = true;
  info.uses_isa = true;
  return info;
}

std::optional<std::string> declines(const Case&) { return std::nullopt; }

// Waking a second thread costs about ten microseconds, so it pays off from about 2 MFLOP on; on two
// cores with AVX2 the break-even was between 0.5 and 4 MFLOP.
constexpr double kThreadsPayFrom = 3e6;

const BackendFacts& facts() {
  static const BackendFacts facts = [] {
    BackendFacts tasks;
    tasks.gflops = 110;
    tasks.packs_heads_together = true;
    tasks.call_seconds = 5e-6;
    tasks.attend_bytes = simd::attend_bytes;
    tasks.kernel_variants = simd::kernel_variants;
    tasks.computes = simd::computes;
    tasks.preference = 20;
    tasks.threads_pay_from = kThreadsPayFrom;
    tasks.library = "libtbb.so";
    tasks.build_packages = {"libxsimd-dev", "libtbb-dev"};
    tasks.packages = {"libtbb12"};
    return tasks;
  }();
  return facts;
}

std::unique_ptr<Backend> make(const BackendConfig& config) {
  return simd::make_simd_backend(config, std::make_unique<TbbExecutor>(config.threads));
}

}  // namespace
}  // namespace headroom

HEADROOM_DEFINE_BACKEND(tbb) = {headroom::describe, headroom::facts, headroom::declines,
                                headroom::make};
