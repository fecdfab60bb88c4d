// Cores and caches as hwloc finds them.
#pragma once

#include "machine/processor.hpp"

struct hwloc_topology;

namespace headroom::machine {

/// Fills in what a loaded topology tells.
void add_topology(hwloc_topology* topology, Processor& processor);

/// The same of this machine; nothing where hwloc finds none.
void add_topology_of_machine(Processor& processor);

}  // namespace headroom::machine
