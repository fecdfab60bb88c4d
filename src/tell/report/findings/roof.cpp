#include <algorithm>
#include <cstdint>

#include "core/call/demand.hpp"
#include "program/json_text.hpp"
#include "report/findings/findings.hpp"

namespace headroom::report {
namespace {

using nlohmann::ordered_json;

// Of all caches of that level together, where the record says it; else the largest one.
double last_level_bytes(const ordered_json& environment) {
  const ordered_json& total = value_at(environment, "/processor/last_level_total_bytes");
  if (total.is_number() && total.get<double>() > 0) return total.get<double>();
  double most = 0;
  const ordered_json& caches = value_at(environment, "/processor/caches");
  if (!caches.is_array()) return most;
  for (const ordered_json& cache : caches) {
    const ordered_json& bytes = value_at(cache, "/bytes");
    if (bytes.is_number()) most = std::max(most, bytes.get<double>());
  }
  return most;
}

// Of all ranks, which have the cores of one machine.
int reading_threads(const ordered_json& environment, const record::CellResult& result) {
  const ordered_json& cores = value_at(environment, "/allowed_cores");
  if (result.cell.ranks == 1 || !cores.is_number_integer()) return result.threads;
  const std::int64_t all = std::int64_t{result.cell.ranks} * result.threads;
  return static_cast<int>(std::min(all, std::max(cores.get<std::int64_t>(), std::int64_t{1})));
}

}  // namespace

std::optional<Roof> roof_of(const record::ResultsFolder& folder, const record::CellResult& result,
                            const record::Peaks& roofs) {
  const Case& shape = result.shape;
  const bool cold = result.cache == plan::CacheState::cold;
  const Numbers& numbers = result.cell.numbers;
  const std::optional<double> products = roofs.product_roof(numbers, result.threads);
  const int reading = reading_threads(folder.environment, result);
  const std::int64_t to_read = bytes_to_read(shape, numbers);
  const std::optional<double> memory = roofs.read_roof(reading, to_read, true);
  if (!products || !memory) return std::nullopt;
  const std::optional<double> of_set = roofs.read_roof(reading, to_read, false);
  Roof roof;
  roof.fma_gflops = result.cell.ranks * *products;
  roof.of_working_set = !cold && of_set.has_value();
  roof.read_gb_per_s = roof.of_working_set ? *of_set : *memory;
  const ByteCount bytes = shape.bytes(numbers);
  const double moved = static_cast<double>(bytes.input) + static_cast<double>(bytes.output) +
                       static_cast<double>(to_read);
  if (!(moved > 0)) return std::nullopt;
  roof.flops_per_byte = shape.flops().total() / moved;
  const double by_memory = roof.flops_per_byte * roof.read_gb_per_s;
  const bool binds = cold || roof.of_working_set || moved > last_level_bytes(folder.environment);
  roof.memory_bound = binds && by_memory < roof.fma_gflops;
  roof.gflops = roof.memory_bound ? by_memory : roof.fma_gflops;
  return roof;
}

}  // namespace headroom::report
