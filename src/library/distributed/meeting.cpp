#include "distributed/meeting.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "headroom/distributed.hpp"
#include "processor/cores.hpp"

namespace headroom::distributed {
namespace {

using Clock = std::chrono::steady_clock;

// About 50 us: longer than the difference between ranks that do the same work.
constexpr int kSpins = 2000;
// A wait that has taken so long is no matter of microseconds any more.
constexpr double kSleepAfter = 0.02;
constexpr useconds_t kSleep = 100;
constexpr int kYieldsPerLook = 256;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

int shared_cores(const Communicator& machine) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // More processors than the set has room for are enough. The others wait for this rank all the
  // same.
  if (sched_getaffinity(0, sizeof set, &set) != 0) std::memset(&set, 0xff, sizeof set);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &set, sizeof set, MPI_BYTE, MPI_BOR, machine.get()),
            "MPI_Allreduce");
  const int cores = CPU_COUNT(&set);
  const double quota = processor::quota_cores("/");
  return quota > 0 && quota < cores ? static_cast<int>(quota) : cores;
}

// A rank waits without rest only where no other needs its core.
Meeting::Meeting(int rank, int cores, std::vector<Place*> places, std::vector<int> numbers,
                 double patience)
    : places_(std::move(places)),
      numbers_(std::move(numbers)),
      rank_(rank),
      spins_(ranks() > cores ? 0 : kSpins),
      patience_(patience) {
  own().process = this_process();
}

void Meeting::meet() {
  if (lost_) throw RankLost("a rank was lost in an earlier call; end the program");
  ++count_;
  own().arrived.store(count_, std::memory_order_release);
  for (std::size_t rank = 0; rank < places_.size(); ++rank) wait_for(rank);
}

void Meeting::wait_for(std::size_t rank) {
  const std::atomic<std::uint64_t>& arrived = places_[rank]->arrived;
  for (int i = 0; i < spins_; ++i) {
    if (arrived.load(std::memory_order_acquire) >= count_) return;
    relax();
  }
  if (arrived.load(std::memory_order_acquire) < count_) wait_long_for(rank);
}

void Meeting::wait_long_for(std::size_t rank) {
  const Place& place = *places_[rank];
  const auto start = Clock::now();
  for (int yields = 1;; ++yields) {
    if (place.arrived.load(std::memory_order_acquire) >= count_) return;
    sched_yield();
    if (yields % kYieldsPerLook != 0) continue;
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (waited < kSleepAfter) continue;
    usleep(kSleep);
    // It may have come and ended since.
    const bool ended = has_ended(place.process);
    if (place.arrived.load(std::memory_order_acquire) >= count_) return;
    if (!ended && (patience_ <= 0 || waited < patience_)) {
      yields = kYieldsPerLook - 1;  // a single yield until the next look
      continue;
    }
    lost_ = true;
    throw RankLost(
        ended ? fmt::format("rank {} (process {}) has ended", numbers_[rank], place.process.number)
              : fmt::format("rank {} (process {}) has not come for {:.1f} s", numbers_[rank],
                            place.process.number, waited));
  }
}

}  // namespace headroom::distributed
