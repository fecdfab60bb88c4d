// The sum over machines.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "distributed/communicator.hpp"

namespace headroom::distributed {

/// Adds what the first ranks of all machines hold, and leaves the sum with each of them. Every
/// value is added up by one rank, in the order of the machines, and then sent to the others, so
/// that all have the same bits whatever the network is.
///
/// Not MPI_Allreduce: in which order it adds depends on the component that it chooses for a size
/// and a number of ranks, and need not be the same on all of them (Open MPI, issue 9062).
class MachineSum {
 public:
  /// @param between the first ranks; @param most values of a call
  MachineSum(const Communicator& between, std::int64_t most);

  /// Collective among the first ranks.
  void add_up(float* values, std::int64_t count);

 private:
  void add_block(float* values, std::int64_t count);

  const Communicator& between_;
  std::vector<int> counts_, offsets_, own_counts_, own_offsets_;
  AlignedBuffer received_;
};

}  // namespace headroom::distributed
