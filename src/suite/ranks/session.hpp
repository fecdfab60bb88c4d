// MPI from its beginning to its end, and who takes part.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "distributed/process_life.hpp"
#include "measure/crew/crew.hpp"

namespace headroom::ranks {

/// A process that works as a rank, as those that watch over others need to know it.
struct RankProcess {
  std::int64_t rank = 0;
  distributed::ProcessId process = {};
};

/// Initialises MPI, and finalises it unless a rank was lost.
class Session {
 public:
  /// Collective. @throws ResourceError if a rank runs another program than rank 0; InvalidArgument
  ///         if it was given other arguments: on all ranks, naming the first that differs.
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(places_.size()); }
  const std::vector<measure::RankPlace>& places() const { return places_; }
  const std::vector<RankProcess>& processes() const { return processes_; }

  /// The first ranks. Collective among them, the first time.
  MPI_Comm first(int ranks);

  /// A rank was lost: the end waits for nobody.
  void lose() { lost_ = true; }
  bool lost() const { return lost_; }

 private:
  void introduce();

  int rank_ = 0;
  bool lost_ = false;
  std::vector<measure::RankPlace> places_;
  std::vector<RankProcess> processes_;
  std::map<int, MPI_Comm> first_;
};

}  // namespace headroom::ranks
