#include "program/launcher.hpp"

#include <cstdlib>
#include <string>

#include "core/environment_variable.hpp"

namespace headroom {

// Before MPI is there to be asked: what Open MPI, any launcher that speaks PMIx, and MPICH set.
bool started_by_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (!environment(name).empty()) return true;
  }
  return false;
}

int processes_started() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const std::string size = environment(name);
    if (!size.empty()) return std::atoi(size.c_str());
  }
  return 0;
}

}  // namespace headroom
