// Who started this process.
#pragma once

namespace headroom {

/// Whether mpirun, mpiexec or srun started this process as one of several, or as one of one.
bool started_by_launcher();

/// How many it started; 0 if it does not say.
int processes_started();

}  // namespace headroom
