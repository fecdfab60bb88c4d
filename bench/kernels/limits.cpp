#include "kernels/limits.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <map>
#include <utility>

#include "headroom/backend.hpp"
#include "machine/cores.hpp"
#include "machine/memory.hpp"
#include "machine/peak.hpp"
#include "machine/processor.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::bench {

double fma_peak(Isa isa, int threads) {
  static std::map<std::pair<Isa, int>, double> measured;
  const auto [found, fresh] = measured.try_emplace({isa, threads}, 0.0);
  if (fresh) found->second = machine::measure_fma_peak(threads, simd::fma_kernel(isa));
  return found->second;
}

double read_bandwidth(int threads) {
  static std::map<int, double> measured;
  const auto [found, fresh] = measured.try_emplace(threads, 0.0);
  if (fresh) {
    found->second = machine::measure_read_bandwidth(
        threads, machine::describe_processor().last_level_bytes(), machine::memory_limit().bytes / 4);
  }
  return found->second;
}

std::string Contestant::id() const {
  return fmt::format("{}/{}/t{}", backend, to_string(isa), threads);
}

std::vector<int> thread_counts() {
  const int all = allowed_cores();
  return all > 1 ? std::vector<int>{1, all} : std::vector<int>{1};
}

std::vector<Contestant> contestants() {
  std::vector<Contestant> all;
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    // oneDNN fixes its level at first use in a process, so it is measured on the highest only.
    const std::vector<Isa> isas = info.uses_isa && info.name != "onednn"
                                      ? available_isas()
                                      : std::vector<Isa>{available_isas().back()};
    for (const Isa isa : isas) {
      for (const int threads : info.threaded ? thread_counts() : std::vector<int>{1}) {
        all.push_back({info.name, isa, threads});
      }
    }
  }
  return all;
}

void register_limits() {
  for (const int threads : thread_counts()) {
    for (const Isa isa : available_isas()) {
      const std::string name = fmt::format("fma_peak/{}/t{}", to_string(isa), threads);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [isa, threads](benchmark::State& state) {
                                     for (auto _ : state)
                                       state.SetIterationTime(1 / (1e9 * fma_peak(isa, threads)));
                                     state.counters["gflops"] = fma_peak(isa, threads);
                                   })
          ->UseManualTime()
          ->Iterations(1);
    }
    const std::string name = fmt::format("read_bandwidth/t{}", threads);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [threads](benchmark::State& state) {
                                   for (auto _ : state)
                                     state.SetIterationTime(1 / (1e9 * read_bandwidth(threads)));
                                   state.counters["gb_per_s"] = read_bandwidth(threads);
                                 })
        ->UseManualTime()
        ->Iterations(1);
  }
}

}  // namespace headroom::bench
