// A process that mpirun started, and the one in which it works as a rank.
#pragma once

#include <functional>

#include "measure/crew/crew.hpp"

namespace headroom::ranks {

/// What the first rank does with all of them; returns an exit code.
using Lead = std::function<int(measure::Crew& crew)>;

/// Called by every process that a launcher started. MPI runs in a child process, so that this one
/// sees how it ends, whatever that is, and says whose it was. It also watches over the children of
/// the other ranks of this machine: if one is gone, this process does not wait for the launcher to
/// notice. SIGINT and SIGTERM go on to the child.
///
/// @param lead called in the child of rank 0
/// @param flush called in the child before it ends
/// @return the exit code: of `lead` for rank 0; 0 for the others, if all went well
/// @throws ResourceError if no process can be started.
int run_as_rank(const Lead& lead, const std::function<void()>& flush);

}  // namespace headroom::ranks
