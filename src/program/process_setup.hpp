// What every program does before it does anything else.
#pragma once

#include <string>

namespace headroom {

/// Makes sure that file descriptors 0 to 2 are open. Else the results file could become number 1,
/// and what is meant for the screen would land in it.
void open_standard_files();

/// Starts this program anew with `OMP_WAIT_POLICY=passive`, unless the user has set how OpenMP
/// threads wait. oneDNN runs on OpenMP, whose threads spin after each product; beside oneTBB's
/// they take the cores from the rival that is being timed (a factor of 5 to 17 was seen). OpenMP
/// reads the variable when it is loaded, before `main`, so that setting it here would be too late.
/// Returns if there is nothing to do or the start fails.
void restart_with_passive_openmp(char** arguments);

/// How OpenMP threads wait, for the record: such as `"passive (set by headroom)"`.
std::string openmp_wait_policy();

}  // namespace headroom
