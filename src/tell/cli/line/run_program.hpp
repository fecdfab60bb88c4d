// What a main calls. Apart from the subcommands, so that a main does not include the parser's
// headers.
#pragma once

#include "cli/with_ranks.hpp"
#include "machine/meters/peak.hpp"

namespace headroom::cli {

/// The whole program: parses, runs, and turns every error into a message and an exit code.
/// @param limits_of returns the kernels that measure the hardware's limits; may be null
/// @param run_as_rank may be null, too
int run_program(int count, char** arguments, machine::LimitKernelsOf limits_of,
                RunAsRank run_as_rank);

}  // namespace headroom::cli
