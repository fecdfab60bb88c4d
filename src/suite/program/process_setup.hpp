// What every program does first.
#pragma once

#include <string>

namespace headroom {

/// Makes sure that file descriptors 0 to 2 are open. Otherwise the results file could become
/// descriptor 1 and receive the output meant for the screen.
void open_standard_files();

/// Restarts this program with `OMP_WAIT_POLICY=passive`, unless the user has set how OpenMP
/// threads wait. oneDNN runs on OpenMP, whose threads spin after each product. Beside oneTBB's
/// threads they take the cores from the rival being timed; we measured a factor of 5 to 17. OpenMP
/// reads the variable when it is loaded, before `main`, so setting it here would be too late.
/// Returns if there is nothing to do or the restart fails.
void restart_with_passive_openmp(char** arguments);

/// How OpenMP threads wait, such as `"passive (set by headroom)"`, for the record.
std::string openmp_wait_policy();

}  // namespace headroom
