// What runs inside a fork server and the processes that it forks.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "measure/group_measurement.hpp"

namespace headroom::measure {

/// What a forked process does first: it ends with its parent, leaves signals to it, and has no more
/// memory than the bytes and a margin.
void settle_worker(pid_t parent, std::int64_t memory_bytes);

/// Makes the group's problem, then measures the rounds that come over `socket`, each in a process
/// of its own, until the socket is closed. Ends the process.
[[noreturn]] void be_fork_server(int socket, pid_t parent, const plan::Group& group,
                                 const MeasureSettings& settings, plan::Estimator& estimator);

}  // namespace headroom::measure
