#include "measure/roofs.hpp"

#include <algorithm>

#include "machine/memory.hpp"
#include "machine/processor.hpp"

namespace headroom::measure {

record::Peaks measure_peaks(Isa isa, const std::set<int>& threads,
                            machine::LimitKernelsOf limits_of) {
  record::Peaks peaks;
  peaks.isa = isa;
  if (limits_of == nullptr) return peaks;
  const machine::LimitKernels kernels = limits_of(isa);
  const std::int64_t last_level = machine::describe_processor().last_level_bytes();
  const std::int64_t most = std::max<std::int64_t>(machine::usable_memory({}) / 2, 1 << 20);
  for (const int count : threads) {
    peaks.fma_gflops[count] = machine::measure_fma_peak(count, kernels.fma);
    peaks.read_gbs[count] = machine::measure_read_bandwidth(count, last_level, most, kernels.read);
  }
  return peaks;
}

record::Peaks measure_peaks(const plan::Plan& plan, machine::LimitKernelsOf limits_of) {
  std::set<int> threads;
  for (const plan::Group& group : plan.groups) {
    for (const plan::Cell& cell : group.cells) threads.insert(cell.threads);
  }
  return measure_peaks(plan.isa, threads, limits_of);
}

}  // namespace headroom::measure
