// Threads that each do one share of the work, again and again.
#pragma once

#include <atomic>
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

namespace headroom::machine {

/// Starts a thread. Tests replace it by one that fails, like a system that is out of threads.
using ThreadStarter = std::function<std::jthread(std::function<void()>)>;

std::jthread start_thread(std::function<void()> work);

/// Threads that each do one share of the work and then synchronise. Made before the timer starts:
/// starting a thread inside the timed part would count as slow arithmetic. Google Benchmark's own
/// threads are not used because its versions differ in how they report the time of several.
class Team {
 public:
  /// Called with the thread's index in `[0, threads)`; 0 is the calling thread.
  using Share = std::function<void(int)>;

  /// @param share what `run()` does
  /// @throws ResourceError if the system does not start all threads; none stays running.
  Team(int threads, Share share, const ThreadStarter& start = start_thread);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return threads_; }
  void run() { run(share_); }
  /// Runs other work on the same threads.
  void run(const Share& share);

 private:
  void work(int index);
  // Releases the threads that wait for their first work, although some were never started.
  void end_started();

  int threads_;
  Share share_;
  const Share* current_ = nullptr;  // written before a start, read after it
  std::barrier<> start_;
  std::barrier<> finish_;
  std::atomic<bool> ended_{false};
  std::vector<std::jthread> workers_;  // last, so that they end before what they use
};

}  // namespace headroom::machine
