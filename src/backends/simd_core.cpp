#include "backends/simd_core.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "machine/cycle_chain.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::simd {
namespace {

using Clock = std::chrono::steady_clock;

template <class Work>
double seconds_of(const Work& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Each burst takes about 0.1 ms at 3 GHz. Of both kinds the fastest counts, because an interrupted
// one is too slow, never too fast.
double multiply_adds_per_cycle(const KernelTable& kernels) {
  const auto chain = machine::cycle_chain();
  if (!chain) return 0;
  constexpr int kBursts = 4;
  constexpr double kCycles = 3e5;
  const auto links = static_cast<std::int64_t>(kCycles / chain->cycles_per_iteration());
  // A burst of as many cycles, if the core starts one multiply-add per cycle.
  const auto iterations = static_cast<std::int64_t>(kCycles) / (2 * kernels.tile_rows);
  double cycles_per_second = 0;
  double per_second = 0;
  for (int i = 0; i < kBursts; ++i) {
    float sink = 0;
    double flops = 0;
    const double busy = seconds_of([&] { flops = kernels.fma_chain(iterations, &sink); });
    const double chained = seconds_of([&] { chain->run(links); });
    const double done = static_cast<double>(links) * chain->cycles_per_iteration();
    per_second = std::max(per_second, flops / (2 * static_cast<double>(kernels.lanes)) / busy);
    cycles_per_second = std::max(cycles_per_second, done / chained);
  }
  return per_second / cycles_per_second;
}

std::int64_t l2_bytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  return std::max<std::int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
#else
  return 0;
#endif
}

}  // namespace

CoreFacts core_facts(Isa isa) {
  static std::mutex mutex;
  static std::map<Isa, CoreFacts> known;
  const std::lock_guard lock(mutex);
  const auto [place, fresh] = known.try_emplace(isa);
  if (fresh) place->second = {multiply_adds_per_cycle(kernel_table(isa)), l2_bytes()};
  return place->second;
}

std::string to_text(const CoreFacts& core) {
  return fmt::format(
      "first choice, by {} and {}",
      core.multiply_adds_per_cycle > 0
          ? fmt::format("{:.1f} multiply-adds per cycle", core.multiply_adds_per_cycle)
          : "an unknown number of multiply-adds per cycle",
      core.l2_bytes > 0 ? fmt::format("an L2 of {} KiB", core.l2_bytes / 1024)
                        : "an L2 of unknown size");
}

}  // namespace headroom::simd
