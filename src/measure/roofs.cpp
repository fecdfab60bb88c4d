#include "measure/roofs.hpp"

#include <algorithm>

#include "machine/caches.hpp"
#include "machine/memory.hpp"
#include "machine/processor.hpp"

namespace headroom::measure {

record::Peaks measure_peaks(Isa isa, const std::set<int>& threads,
                            machine::LimitKernelsOf limits_of) {
  record::Peaks peaks;
  peaks.isa = isa;
  if (limits_of == nullptr) return peaks;
  const machine::LimitKernels kernels = limits_of(isa);
  const std::int64_t to_read =
      machine::uncached_buffer(machine::describe_processor(), machine::usable_memory() / 2).bytes;
  for (const int count : threads) {
    peaks.fma_gflops[count] = machine::measure_fma_peak(count, kernels.fma);
    if (to_read == 0) continue;  // no buffer can exceed the caches, so there is no roof to measure
    peaks.read_gbs[count] = machine::measure_read_bandwidth(count, to_read, kernels.read);
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
