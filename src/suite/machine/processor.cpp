#include "machine/processor.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "processor/processor_name.hpp"

namespace headroom::machine {
namespace {

constexpr std::array<std::string_view, 24> kFeatures{
    "sse4_2",      "avx",      "avx2",     "fma",      "f16c",        "avx512f",
    "avx512cd",    "avx512dq", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8",    "asimd",
    "asimdhp",     "asimddp",  "bf16",     "sve",      "sve2",        "i8mm"};

std::vector<std::string> known_features() {
  std::string flags = processor::cpuinfo_value("flags");
  if (flags.empty()) flags = processor::cpuinfo_value("Features");
  std::istringstream words(flags);
  std::vector<std::string> found;
  for (std::string word; words >> word;) {
    if (std::find(kFeatures.begin(), kFeatures.end(), word) != kFeatures.end()) {
      found.push_back(word);
    }
  }
  return found;
}

// A cloud's processors are often called no more than "AMD EPYC".
std::string model_numbers() {
  const std::string family = processor::cpuinfo_value("cpu family");
  const std::string model = processor::cpuinfo_value("model\t");
  return family.empty() || model.empty() ? "" : "family " + family + ", model " + model;
}

}  // namespace

std::int64_t Processor::last_level_bytes() const {
  return caches.empty() ? 0 : caches.back().bytes;
}

std::int64_t Processor::all_caches_bytes() const {
  std::int64_t total = 0;
  for (const Cache& cache : caches) total += cache.total_bytes;
  return total;
}

Processor describe_processor() {
  Processor processor;
  add_topology_of_machine(processor);
  processor.features = known_features();
  processor.name = processor::processor_name();
  if (processor.vendor.empty()) processor.vendor = processor::cpuinfo_value("vendor_id");
  processor.architecture = processor::processor_architecture();
  processor.model = model_numbers();
  return processor;
}

}  // namespace headroom::machine
