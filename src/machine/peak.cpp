#include "machine/peak.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "machine/timing.hpp"

namespace headroom::machine {
namespace {

constexpr int kRounds = 3;
constexpr int kRepetitions = 5;
constexpr double kMinTime = 0.04;

// Threads that all do one share of the work and meet again. Made before the clock starts: starting
// a thread inside the timed part would be counted as slow arithmetic. Google Benchmark's own
// threads are not used because its versions differ in how they report the time of several.
class Team {
 public:
  Team(int threads, std::function<void(int)> share)
      : share_(std::move(share)), start_(threads), finish_(threads) {
    for (int i = 1; i < threads; ++i) {
      workers_.emplace_back([this, i] { work(i); });
    }
  }
  ~Team() {
    ended_ = true;
    start_.arrive_and_wait();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run() {
    start_.arrive_and_wait();
    share_(0);
    finish_.arrive_and_wait();
  }

 private:
  void work(int index) {
    for (;;) {
      start_.arrive_and_wait();
      if (ended_) return;
      share_(index);
      finish_.arrive_and_wait();
    }
  }

  std::function<void(int)> share_;
  std::barrier<> start_;
  std::barrier<> finish_;
  std::atomic<bool> ended_{false};
  std::vector<std::jthread> workers_;  // last, so that they end before what they use
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Seconds of one run in the best of the rounds.
double best_median_seconds(const char* name, const std::function<void()>& run) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    time_interleaved({{name, run, kRepetitions, kMinTime}},
                     [&](std::size_t, const std::vector<double>& samples) {
                       const double seconds = median(samples);
                       if (best == 0 || seconds < best) best = seconds;
                     });
  }
  return best;
}

// Sums in eight independent chains; whole numbers, because those may be added in any order and so
// become vector code in a baseline build.
std::uint64_t sum(const std::uint64_t* values, std::size_t count) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] += values[i + j];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t part : sums) total += part;
  return total;
}

// Iterations that keep one thread busy for about 5 ms, so that meeting at the barrier is nothing.
std::int64_t iterations_for_milliseconds(FmaKernel kernel) {
  using Clock = std::chrono::steady_clock;
  float sink = 0;
  for (std::int64_t iterations = 1000;; iterations *= 2) {
    const auto start = Clock::now();
    kernel(iterations, &sink);
    if (Clock::now() - start > std::chrono::milliseconds(5)) return iterations;
  }
}

}  // namespace

double measure_fma_peak(int threads, FmaKernel kernel) {
  const std::int64_t iterations = iterations_for_milliseconds(kernel);
  struct alignas(64) Slot {
    float sink = 0;
    double flops = 0;
  };
  std::vector<Slot> slots(static_cast<std::size_t>(threads));
  Team team(threads, [&](int index) {
    Slot& slot = slots[static_cast<std::size_t>(index)];
    slot.flops = kernel(iterations, &slot.sink);
  });
  const double seconds = best_median_seconds("fma_peak", [&] { team.run(); });
  double flops = 0;
  for (const Slot& slot : slots) flops += slot.flops;
  return seconds > 0 ? flops / seconds * 1e-9 : 0;
}

double measure_read_bandwidth(int threads, std::int64_t last_level_bytes, std::int64_t max_bytes) {
  constexpr std::int64_t kSmallest = std::int64_t{256} << 20;
  const std::int64_t bytes = std::min(max_bytes, std::max(kSmallest, 4 * last_level_bytes));
  const auto count = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
  const std::size_t share = count / static_cast<std::size_t>(threads);
  const std::vector<std::uint64_t> values(count, 1);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads) * 8);
  Team team(threads, [&](int index) {
    const auto i = static_cast<std::size_t>(index);
    sums[i * 8] = sum(values.data() + i * share, share);
  });
  const double seconds = best_median_seconds("read_bandwidth", [&] { team.run(); });
  const double read = static_cast<double>(share) * threads * sizeof(std::uint64_t);
  return seconds > 0 ? read / seconds * 1e-9 : 0;
}

}  // namespace headroom::machine
