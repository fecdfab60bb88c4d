#include "machine/processor.hpp"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

#include "machine/processor_name.hpp"
#include "machine/text_file.hpp"

namespace headroom::machine {
namespace {

constexpr std::array<std::string_view, 24> kFeatures{
    "sse4_2",      "avx",      "avx2",     "fma",      "f16c",        "avx512f",
    "avx512cd",    "avx512dq", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8",    "asimd",
    "asimdhp",     "asimddp",  "bf16",     "sve",      "sve2",        "i8mm"};

std::vector<std::string> known_features() {
  std::string flags = cpuinfo_value("flags");
  if (flags.empty()) flags = cpuinfo_value("Features");
  std::istringstream words(flags);
  std::vector<std::string> found;
  for (std::string word; words >> word;) {
    if (std::find(kFeatures.begin(), kFeatures.end(), word) != kFeatures.end()) {
      found.push_back(word);
    }
  }
  return found;
}

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

void add_caches(hwloc_topology_t topology, Processor& processor) {
  constexpr std::array<std::pair<hwloc_obj_type_t, const char*>, 4> kLevels{
      {{HWLOC_OBJ_L1CACHE, "L1d"},
       {HWLOC_OBJ_L2CACHE, "L2"},
       {HWLOC_OBJ_L3CACHE, "L3"},
       {HWLOC_OBJ_L4CACHE, "L4"}}};
  for (const auto& [type, name] : kLevels) {
    const int count = hwloc_get_nbobjs_by_type(topology, type);
    if (count <= 0) continue;
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    processor.caches.push_back({name, static_cast<std::int64_t>(cache->attr->cache.size), count});
  }
}

void add_topology(Processor& processor) {
  const Topology topology = load_topology();
  if (!topology) return;
  const auto count = [&](hwloc_obj_type_t type) {
    return std::max(0, hwloc_get_nbobjs_by_type(topology.get(), type));
  };
  processor.packages = count(HWLOC_OBJ_PACKAGE);
  processor.cores = count(HWLOC_OBJ_CORE);
  processor.hardware_threads = count(HWLOC_OBJ_PU);
  processor.numa_nodes = count(HWLOC_OBJ_NUMANODE);
  add_caches(topology.get(), processor);
  if (processor.packages == 0) return;
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0);
  if (const char* name = hwloc_obj_get_info_by_name(package, "CPUVendor")) processor.vendor = name;
}

}  // namespace

std::int64_t Processor::last_level_bytes() const {
  return caches.empty() ? 0 : caches.back().bytes;
}

Processor describe_processor() {
  Processor processor;
  add_topology(processor);
  processor.features = known_features();
  processor.name = processor_name();
  if (processor.vendor.empty()) processor.vendor = cpuinfo_value("vendor_id");
  processor.architecture = processor_architecture();
  return processor;
}

}  // namespace headroom::machine
