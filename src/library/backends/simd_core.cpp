#include "backends/simd_core.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>

#include "processor/cycle_chain.hpp"
#include "simd/kernel_table.hpp"
#include "simd/tiles/tile_kernels.hpp"

namespace headroom::simd {
namespace {

// Of this thread alone: on a busy machine others run in between.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double seconds_of(const Work& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

// Each burst takes about 0.1 ms at 3 GHz. Of both kinds the fastest counts, because an interrupted
// one is too slow, never too fast.
double multiply_adds_per_cycle(const KernelTable& kernels) {
  const auto chain = processor::cycle_chain();
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

// As above: of both kinds the fastest, each some 0.1 ms long.
double measure_bf16_gain(const Target& target) {
  constexpr int kBursts = 4;
  constexpr std::int64_t kIterations = 150;
  const auto rate = [](const auto& burst) {
    float sink = 0;
    double flops = 0;
    const double busy = seconds_of([&] { flops = burst(kIterations, &sink); });
    return flops / busy;
  };
  double by_unit = 0;
  double by_f32 = 0;
  for (int i = 0; i < kBursts; ++i) {
    by_unit = std::max(by_unit, rate(tile_precision(target, Precision::bf16)->burst));
    by_f32 = std::max(by_f32, rate(kernel_table(target.isa).tile_chain));
  }
  return by_unit / by_f32;
}

#ifdef _SC_LEVEL2_CACHE_SIZE
constexpr int kL1Size = _SC_LEVEL1_DCACHE_SIZE;
constexpr int kL2Size = _SC_LEVEL2_CACHE_SIZE;
#else
constexpr int kL1Size = -1;
constexpr int kL2Size = -1;
#endif

/// 0: unknown.
std::int64_t cache_bytes(int name) { return std::max<std::int64_t>(0, sysconf(name)); }

}  // namespace

CoreFacts core_facts(Isa isa) {
  static std::mutex mutex;
  static std::map<Isa, CoreFacts> known;
  const std::lock_guard lock(mutex);
  const auto [place, fresh] = known.try_emplace(isa);
  if (fresh) place->second = {multiply_adds_per_cycle(kernel_table(isa)), cache_bytes(kL2Size)};
  return place->second;
}

bool streams_into_l1(Isa isa) {
  static const std::int64_t l1 = cache_bytes(kL1Size);
  static const std::int64_t l2 = cache_bytes(kL2Size);
  return streams_into_l1(isa, l1, l2);
}

double avx512_bf16_gain() {
  static const double gain = measure_bf16_gain({Isa::avx512, Unit::avx512_bf16});
  return gain;
}

// Beside the products stand conversions that f32 has not, so that equal rates are a loss.
std::string why_f32_is_no_slower(double gain) {
  constexpr double kLeast = 1.2;
  if (gain >= kLeast) return "";
  return fmt::format(
      "pairs of bf16 run at {:.2f} times the rate of f32 on this core (measured at first use); f32 "
      "is more exact and no slower",
      gain);
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
