// Where the ranks of a machine wait for each other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "distributed/agreement.hpp"
#include "distributed/communicator.hpp"
#include "distributed/process_life.hpp"

namespace headroom::distributed {

/// What a rank shows the others of its machine.
struct alignas(64) Place {
  /// How often it has come. Lock-free, because it lies in memory of several processes.
  std::atomic<std::uint64_t> arrived = 0;
  ProcessId process = {};
  /// Of this call and the one before: a rank may be one call ahead.
  std::array<std::uint64_t, 2> call{};
  std::array<Said, 2> said{};
  Said verdict{};  ///< of all machines; set by the first rank of each
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Collective: cores that a machine's ranks may use together.
int shared_cores(const Communicator& machine);

/// Spins, then yields, then sleeps, and looks now and then whether those still live that are
/// missing.
///
/// By hand, because MPI_Barrier waits for ever for a rank that has ended.
class Meeting {
 public:
  /// Of this rank alone; all have to be made before any meets.
  /// @param rank on the machine; @param cores `shared_cores`; @param places one for each rank of
  /// the
  ///        machine, filled with zeros; @param numbers what the ranks are called in messages;
  ///        @param patience as `DistributedOptions`
  Meeting(int rank, int cores, std::vector<Place*> places, std::vector<int> numbers,
          double patience);

  /// @throws RankLost, and at every later call again.
  void meet();

  Place& own() const { return *places_[static_cast<std::size_t>(rank_)]; }
  Place& of(int rank) const { return *places_[static_cast<std::size_t>(rank)]; }
  int ranks() const { return static_cast<int>(places_.size()); }
  bool lost() const { return lost_; }

 private:
  void wait_for(std::size_t rank);
  void wait_long_for(std::size_t rank);

  std::vector<Place*> places_;
  std::vector<int> numbers_;
  int rank_;
  int spins_;
  double patience_;
  std::uint64_t count_ = 0;
  bool lost_ = false;
};

}  // namespace headroom::distributed
