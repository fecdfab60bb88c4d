// Memory that all ranks of a machine see, in which each has a part of its own.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "distributed/communicator.hpp"

namespace headroom::distributed {

class SharedParts {
 public:
  static constexpr std::size_t kAlignment = 64;

  /// Of this rank alone, so that what runs out here keeps no other rank waiting.
  /// @param bytes of each part, the same on all ranks; @throws ResourceError
  SharedParts(const Communicator& machine, std::int64_t bytes);
  ~SharedParts();
  SharedParts(const SharedParts&) = delete;
  SharedParts& operator=(const SharedParts&) = delete;

  /// Collective, once. Each rank touches its own part first, so that it lies in the memory of its
  /// socket; those of others are to be read once all have returned. @throws ResourceError
  void allocate();

  /// Filled with zeros at first, and aligned to `kAlignment`.
  std::byte* part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

  /// Leaves the memory to the end of the process, because freeing it waits for all ranks.
  void abandon() { window_ = MPI_WIN_NULL; }

 private:
  const Communicator& machine_;
  std::int64_t bytes_;
  MPI_Info info_ = MPI_INFO_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> parts_;
};

}  // namespace headroom::distributed
