#include "kernels/rows.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "backends/backend.hpp"
#include "core/element/layer_numbers.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "kernels/above.hpp"
#include "machine/caches.hpp"
#include "machine/memory.hpp"
#include "machine/meters/peak.hpp"
#include "machine/processor.hpp"
#include "processor/cores.hpp"
#include "simd/kernel_table.hpp"
#include "simd/tiles/tile_kernels.hpp"

namespace headroom::bench {
namespace {

using benchmark::Counter;

// The meter of one of a level's chains of multiply-adds.
template <auto kChain>
machine::FmaMeter& meter_of(Isa isa, int threads) {
  static std::map<std::pair<Isa, int>, machine::FmaMeter> meters;
  return meters.try_emplace({isa, threads}, threads, simd::kernel_table(isa).*kChain).first->second;
}

using MeterOf = machine::FmaMeter& (*)(Isa isa, int threads);

// The meter of a precision's products; null if this level has none for it.
machine::FmaMeter* product_meter(const Target& target, int threads, Precision precision) {
  static std::map<std::tuple<Isa, Unit, int, Precision>, machine::FmaMeter> meters;
  for (const auto& [known, burst] : simd::product_bursts(target)) {
    if (known != Numbers{precision, Dtype::f32}) continue;
    return &meters.try_emplace({target.isa, target.unit, threads, precision}, threads, burst)
                .first->second;
  }
  return nullptr;
}

constexpr MeterOf kPeak = meter_of<&simd::KernelTable::fma_chain>;
constexpr MeterOf kTiles = meter_of<&simd::KernelTable::tile_chain>;

machine::ReadMeter& read_meter(int threads) {
  static std::map<int, machine::ReadMeter> meters;
  const auto found = meters.find(threads);
  if (found != meters.end()) return found->second;
  const machine::UncachedBuffer buffer =
      machine::uncached_buffer(machine::describe_processor(), machine::memory_limit().bytes / 4);
  if (buffer.bytes == 0) throw headroom::ResourceError("read bandwidth: " + buffer.refusal);
  const auto kernel = simd::kernel_table(available_isas().back()).read_sum;
  return meters.try_emplace(threads, threads, buffer.bytes, kernel).first->second;
}

// How many prepared rows are kept: enough to interleave contestants at random, but not all, because
// the largest weights take 600 MB.
constexpr std::size_t kKept = 8;

const Prepared& prepared(const Row& row) {
  static std::list<std::pair<std::string, Prepared>> kept;
  for (const auto& [name, ready] : kept) {
    if (name == row.name) return ready;
  }
  if (kept.size() >= kKept) kept.pop_front();
  kept.emplace_back(row.name, row.prepare());
  return kept.back().second;
}

// The mean of a limit before and after the timed loop.
class Beside {
 public:
  explicit Beside(std::function<double()> limit) : limit_(std::move(limit)) {
    if (limit_) before_ = limit_();
  }
  double finish() { return limit_ ? (before_ + limit_()) / 2 : 0; }

 private:
  std::function<double()> limit_;
  double before_ = 0;
};

std::function<double()> rate_of(MeterOf meter, const Row& row) {
  if (row.flops == 0) return {};
  return [meter, &row] { return machine::best_of_bursts(meter(row.target.isa, row.threads)); };
}

// What no product of this precision can pass: tiles, of floats or of parts.
std::function<double()> tile_rate_of(const Row& row) {
  if (row.precision == Precision::f32) return rate_of(kTiles, row);
  machine::FmaMeter* meter = product_meter(row.target, row.threads, row.precision);
  if (row.flops == 0 || meter == nullptr) return {};
  return [meter] { return machine::best_of_bursts(*meter); };
}

std::function<double()> bandwidth_of(const Row& row) {
  if (row.bytes == 0) return {};
  return [&row] { return machine::best_of_bursts(read_meter(row.threads)); };
}

// Those that a backend computes as they are named.
std::vector<Precision> precisions_of(const std::string& backend, const Target& target) {
  std::vector<Precision> found;
  for (const Precision precision : kAllPrecisions) {
    if (arithmetic_of(backend, {precision, Dtype::f32}, target).precision == precision) {
      found.push_back(precision);
    }
  }
  return found;
}

// Every available backend with every level and thread count that makes a difference to it. A
// backend that fixes its level at first use in a process appears only with the highest, or with the
// one that HEADROOM_ISA names.
std::vector<Contestant> contestants() {
  const Target best = select_target();
  std::vector<Contestant> all;
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    const bool many = info.uses_isa && !backend_facts(info.name).one_isa_per_process;
    for (const Target& target : many ? available_targets() : std::vector<Target>{best}) {
      for (const int threads : info.threaded ? thread_counts() : std::vector<int>{1}) {
        for (const Precision precision : precisions_of(info.name, target)) {
          all.push_back({info.name, target, threads, precision});
        }
      }
    }
  }
  return all;
}

// Plain loops reach about 5 GFLOP/s; a row with more work than this would take minutes.
constexpr double kMostFlopsForPlainLoops = 2e9;
constexpr double kLeastTunedGflops = 20;

bool affordable(const Contestant& who, double flops) {
  const bool tuned = backend_facts(who.backend).gflops >= kLeastTunedGflops;
  return tuned || flops <= kMostFlopsForPlainLoops;
}

void run_row(benchmark::State& state, const Row& row) {
  const Prepared& ready = prepared(row);
  if (!ready.refusal.empty()) {
    state.SkipWithError(ready.refusal.c_str());
    return;
  }
  Beside bandwidth(bandwidth_of(row));
  Beside peak(rate_of(kPeak, row));
  Beside tiles(tile_rate_of(row));
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    ready.run();
    benchmark::ClobberMemory();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double tile_gflops = tiles.finish();
  const double gflops = peak.finish();
  const double gb_per_s = bandwidth.finish();
  const auto runs = static_cast<double>(state.iterations());
  const double per_limit = runs / (1e9 * seconds);
  state.SetLabel(why_above({.peak = row.flops * per_limit / gflops,
                            .tile = tile_gflops > 0 ? row.flops * per_limit / tile_gflops : 0,
                            .read = row.bytes * per_limit / gb_per_s,
                            .parts = row.precision != Precision::f32}));
  if (row.flops > 0) {
    state.counters["gflops"] = Counter(row.flops * runs / 1e9, Counter::kIsRate);
    state.counters["peak_share"] = Counter(row.flops * runs / (1e9 * gflops), Counter::kIsRate);
    if (tile_gflops > 0) {
      state.counters["tile_share"] =
          Counter(row.flops * runs / (1e9 * tile_gflops), Counter::kIsRate);
    }
  }
  if (row.bytes > 0) {
    state.counters["read_share"] = Counter(row.bytes * runs / (1e9 * gb_per_s), Counter::kIsRate);
  }
}

void register_rate(const std::string& name, machine::FmaMeter& meter) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [&meter](benchmark::State& state) {
                                 for (auto _ : state) meter.run();
                                 state.counters["gflops"] = Counter(
                                     meter.flops() * static_cast<double>(state.iterations()) / 1e9,
                                     Counter::kIsRate);
                               })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

std::string Contestant::id() const {
  const std::string by = precision == Precision::f32
                             ? ""
                             : fmt::format("{}/{}/", to_string(target.unit), to_string(precision));
  return fmt::format("{}/{}/{}t{}", backend, to_string(target.isa), by, threads);
}

std::vector<int> thread_counts() {
  const int all = allowed_cores();
  return all > 1 ? std::vector<int>{1, all} : std::vector<int>{1};
}

void add_rows(const std::function<Row(const Contestant&)>& row_of) {
  for (const Contestant& who : contestants()) {
    Row row = row_of(who);
    if (affordable(who, row.flops)) add_row(std::move(row));
  }
}

void add_row(Row row) {
  const auto kept = std::make_shared<Row>(std::move(row));
  benchmark::RegisterBenchmark(kept->name.c_str(),
                               [kept](benchmark::State& state) { run_row(state, *kept); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void register_limits() {
  for (const int threads : thread_counts()) {
    for (const Target& target : available_targets()) {
      const std::string_view isa = to_string(target.isa);
      register_rate(fmt::format("fma_peak/{}/t{}", isa, threads), kPeak(target.isa, threads));
      register_rate(fmt::format("tile_peak/{}/t{}", isa, threads), kTiles(target.isa, threads));
      for (const auto& [numbers, burst] : simd::product_bursts(target)) {
        // Rows here have weights of f32.
        if (numbers.dtype != Dtype::f32) continue;
        register_rate(fmt::format("{}_peak/{}/{}/t{}", to_string(numbers.precision), isa,
                                  to_string(target.unit), threads),
                      *product_meter(target, threads, numbers.precision));
      }
    }
    const std::string name = fmt::format("read_bandwidth/t{}", threads);
    benchmark::RegisterBenchmark(
        name.c_str(),
        [threads](benchmark::State& state) {
          machine::ReadMeter& meter = read_meter(threads);
          for (auto _ : state) meter.run();
          state.counters["gb_per_s"] = Counter(
              meter.bytes() * static_cast<double>(state.iterations()) / 1e9, Counter::kIsRate);
        })
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace headroom::bench
