// Commands that several processes may run together.
#pragma once

#include <functional>
#include <string>

#include "measure/crew/crew.hpp"

namespace headroom::cli {

/// Lets a process that a launcher started take part as a rank; `lead` runs in the first one alone.
/// Null if this build has no MPI. @return an exit code
using RunAsRank = int (*)(const std::function<int(measure::Crew&)>& lead,
                          const std::function<void()>& flush);

/// Runs a command, with a crew if `--ranks` was given and a launcher started this process.
/// @throws InvalidArgument if a launcher started several processes and `--ranks` was not given;
///         Unavailable without MPI.
int with_ranks(bool ranks_given, RunAsRank run_as_rank,
               const std::function<int(measure::Crew*)>& work);

/// Runs, and turns every error into a message and an exit code.
/// @param who whose resources they are, such as `rank 0: `
int guarded(const std::function<int()>& work, const std::string& who = "");

}  // namespace headroom::cli
