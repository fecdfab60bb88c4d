// What attention does to every score: 2^x, on values that stay in the first cache.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/limits.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::bench {
namespace {

constexpr std::size_t kCount = 4096;

void run_exp2(benchmark::State& state, Isa isa) {
  std::vector<float> x(kCount);
  std::vector<float> y(kCount);
  for (std::size_t i = 0; i < kCount; ++i) x[i] = -static_cast<float>(i) / 64;
  const auto exp2 = simd::kernel_table(isa).exp2;
  exp2(x.data(), y.data(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const double right = std::exp2(static_cast<double>(x[i]));
    if (std::abs(static_cast<double>(y[i]) - right) > 0x1p-22 * right) {
      state.SkipWithError("wrong result");
      return;
    }
  }
  for (auto _ : state) {
    exp2(x.data(), y.data(), kCount);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kCount));
  // A multiply-add a lane is what the peak counts; 14 of them are what one 2^x costs.
  const double flops = 2.0 * static_cast<double>(kCount) * static_cast<double>(state.iterations());
  state.counters["peak_share"] =
      benchmark::Counter(flops / (1e9 * fma_peak(isa, 1)), benchmark::Counter::kIsRate);
}

}  // namespace

void register_elementwise() {
  for (const Isa isa : available_isas()) {
    const std::string name = fmt::format("exp2/{}/t1", to_string(isa));
    benchmark::RegisterBenchmark(name.c_str(), [isa](benchmark::State& state) {
      run_exp2(state, isa);
    })->UseRealTime();
  }
}

}  // namespace headroom::bench
