// Threads that do one share of a piece of work each, again and again.
#pragma once

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace headroom::machine {

/// Threads that all do one share of the work and meet again. Made before the clock starts: starting
/// a thread inside the timed part would be counted as slow arithmetic. Google Benchmark's own
/// threads are not used because its versions differ in how they report the time of several.
class Team {
 public:
  /// @param share called with the thread's index in `[0, threads)`; 0 is the calling thread.
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

}  // namespace headroom::machine
