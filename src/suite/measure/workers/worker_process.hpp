// What runs inside a fork server and the processes that it forks.
#pragma once

#include "measure/group/group_measurement.hpp"

namespace headroom::measure {

/// Makes the group's problem, then measures the rounds that come over `socket`, each in a process
/// of its own, until the socket is closed. Ends the process.
[[noreturn]] void be_fork_server(int socket, const plan::Group& group, const Settings& settings,
                                 plan::Estimator& estimator);

}  // namespace headroom::measure
