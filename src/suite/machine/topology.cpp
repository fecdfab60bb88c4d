// Cores and caches as hwloc finds them.
#include <hwloc.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "machine/processor.hpp"

namespace headroom::machine {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

std::int64_t bytes_of(hwloc_obj_t cache) {
  return static_cast<std::int64_t>(cache->attr->cache.size);
}

void add_caches(hwloc_topology_t topology, Processor& processor) {
  constexpr std::array<std::pair<hwloc_obj_type_t, const char*>, 4> kLevels{
      {{HWLOC_OBJ_L1CACHE, "L1d"},
       {HWLOC_OBJ_L2CACHE, "L2"},
       {HWLOC_OBJ_L3CACHE, "L3"},
       {HWLOC_OBJ_L4CACHE, "L4"}}};
  for (const auto& [type, name] : kLevels) {
    hwloc_obj_t cache = hwloc_get_next_obj_by_type(topology, type, nullptr);
    if (cache == nullptr) continue;
    Cache all{name, bytes_of(cache), 0, 0};
    for (; cache != nullptr; cache = hwloc_get_next_obj_by_type(topology, type, cache)) {
      ++all.count;
      all.total_bytes += bytes_of(cache);
    }
    processor.caches.push_back(all);
  }
}

// The last-level cache of a core, whatever its level: on some processors the small cores have no
// L3.
hwloc_obj_t last_cache(hwloc_obj_t unit) {
  hwloc_obj_t last = nullptr;
  for (hwloc_obj_t object = unit; object != nullptr; object = object->parent) {
    if (hwloc_obj_type_is_dcache(object->type) != 0) last = object;
  }
  return last;
}

std::int64_t last_level_total(hwloc_topology_t topology) {
  std::set<hwloc_obj_t> caches;
  for (hwloc_obj_t unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, nullptr);
       unit != nullptr; unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) {
    caches.insert(last_cache(unit));
  }
  std::int64_t total = 0;
  for (const hwloc_obj_t cache : caches) {
    if (cache == nullptr || bytes_of(cache) <= 0) return 0;
    total += bytes_of(cache);
  }
  return total;
}

}  // namespace

void add_topology(hwloc_topology* topology, Processor& processor) {
  const auto count = [&](hwloc_obj_type_t type) {
    return std::max(0, hwloc_get_nbobjs_by_type(topology, type));
  };
  processor.packages = count(HWLOC_OBJ_PACKAGE);
  processor.cores = count(HWLOC_OBJ_CORE);
  processor.hardware_threads = count(HWLOC_OBJ_PU);
  processor.numa_nodes = count(HWLOC_OBJ_NUMANODE);
  add_caches(topology, processor);
  processor.last_level_total_bytes = last_level_total(topology);
  if (processor.packages == 0) return;
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  if (const char* name = hwloc_obj_get_info_by_name(package, "CPUVendor")) processor.vendor = name;
}

void add_topology_of_machine(Processor& processor) {
  if (const Topology topology = load_topology()) add_topology(topology.get(), processor);
}

}  // namespace headroom::machine
