// Communicators of our own, whose errors come back as exceptions.
#pragma once

#include <mpi.h>

#include "headroom/export.h"

namespace headroom::distributed {

/// @throws ResourceError naming the call, unless the code is MPI_SUCCESS.
HEADROOM_API void check_mpi(int code, const char* call);

class Communicator {
 public:
  /// Collective, as are all that make one.
  static Communicator copy_of(MPI_Comm communicator);
  ~Communicator();
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;

  /// The ranks that share this machine's memory, in the same order.
  Communicator on_this_machine() const;

  /// The ranks of one colour, in the same order.
  Communicator of_colour(int colour) const;

  MPI_Comm get() const { return communicator_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Does not free it at the end, because that waits for a rank that has ended.
  void abandon() { communicator_ = MPI_COMM_NULL; }

 private:
  explicit Communicator(MPI_Comm own);

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace headroom::distributed
