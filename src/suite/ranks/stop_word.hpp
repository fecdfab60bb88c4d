// How a rank that is told to stop tells the leader, who decides what that means.
#pragma once

#include <mpi.h>

namespace headroom::ranks {

inline constexpr int kStopTag = 2;

/// Of a rank that follows: sends one number to the leader, which signal it got, or 0 at the end.
/// Exactly one, so that nothing is left over when MPI ends.
class StopWord {
 public:
  /// From now on SIGINT and SIGTERM, however often, are only remembered.
  StopWord();
  StopWord(const StopWord&) = delete;
  StopWord& operator=(const StopWord&) = delete;

  /// Sends it if there is one. Waits for nobody.
  void say();
  /// Sends it if that has not happened, and waits until it is heard.
  void end();

 private:
  void send(int signal);

  int sent_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool said_ = false;
};

/// Of the leader.
class StopWords {
 public:
  /// Raises here what another rank got, unless a signal was here before. Waits for nobody.
  void hear();
  /// Waits for the words of so many ranks in all.
  void hear_all(int ranks);

 private:
  void receive(int rank);

  int heard_ = 0;
};

}  // namespace headroom::ranks
