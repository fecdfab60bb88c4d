// What the processor is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct hwloc_topology;

namespace headroom::machine {

struct Cache {
  std::string name;              ///< such as `"L2"`
  std::int64_t bytes = 0;        ///< of the first one
  int count = 0;                 ///< caches of this kind in the machine
  std::int64_t total_bytes = 0;  ///< sum over all, which may differ in size
};

struct Processor {
  std::string name;
  std::string vendor;
  std::string architecture;  ///< such as `"x86_64"`
  /// Numbers that tell cores of one name apart, such as `"family 25, model 17"`; may be empty.
  std::string model;
  std::vector<std::string> features;  ///< those that matter for floating-point kernels
  std::vector<Cache> caches;          ///< data caches, smallest level first
  int packages = 0;
  int cores = 0;
  int hardware_threads = 0;
  int numa_nodes = 0;

  /// Bytes of the largest cache; 0 if unknown.
  std::int64_t last_level_bytes() const;

  /// Total bytes of the last-level caches: a processor may have several L3s, and some of its cores
  /// none. 0 if that of any core is unknown.
  std::int64_t last_level_total_bytes = 0;

  /// Total bytes of the data caches of all levels.
  std::int64_t all_caches_bytes() const;
};

Processor describe_processor();

/// Fills in the cores and caches of a loaded topology.
void add_topology(hwloc_topology* topology, Processor& processor);

/// The same for this machine; fills in nothing where hwloc finds none.
void add_topology_of_machine(Processor& processor);

}  // namespace headroom::machine
