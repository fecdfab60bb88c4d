#include "measure/roofs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "core/call/demand.hpp"
#include "headroom/error.hpp"
#include "machine/caches.hpp"
#include "machine/memory.hpp"
#include "machine/meters/unit_trial.hpp"
#include "machine/processor.hpp"
#include "processor/cores.hpp"

namespace headroom::measure {
namespace {

void add_fma(record::Peaks& peaks, int threads, const machine::FmaPeak& fma) {
  peaks.fma_gflops[threads] = fma.gflops;
  peaks.sustained_gflops[threads] = fma.sustained_gflops;
  if (fma.clock_ghz) peaks.clock_ghz[threads] = *fma.clock_ghz;
  if (fma.sustained_clock_ghz) peaks.sustained_clock_ghz[threads] = *fma.sustained_clock_ghz;
}

}  // namespace

record::Peaks measure_peaks(const Target& target, const std::set<int>& threads,
                            machine::LimitKernelsOf limits_of, const machine::Stopped& stopped) {
  const auto over = [&] { return stopped && stopped(); };
  record::Peaks peaks;
  peaks.target = target;
  if (limits_of == nullptr) return peaks;
  const machine::LimitKernels kernels = limits_of(target);
  const std::int64_t to_read =
      machine::uncached_buffer(machine::describe_processor(), machine::usable_memory() / 2).bytes;
  for (const int count : threads) {
    if (over()) return peaks;
    const machine::FmaPeak fma = machine::measure_fma_limits(count, kernels.fma, stopped);
    if (over()) return peaks;
    add_fma(peaks, count, fma);
    if (kernels.tile != nullptr) {
      const double tile = machine::measure_fma_peak(count, kernels.tile, stopped);
      if (over()) return peaks;
      peaks.tile_gflops[count] = tile;
    }
    if (to_read == 0) continue;  // no roof where nothing is larger than the caches
    const double gbs = machine::measure_read_bandwidth(count, to_read, kernels.read, stopped);
    if (over()) return peaks;
    peaks.read_gbs[count] = gbs;
  }
  return peaks;
}

namespace {

// The working sets of cells with few rows, for which memory may be the limit.
std::set<std::pair<int, std::int64_t>> working_sets(const plan::Plan& plan) {
  std::set<std::pair<int, std::int64_t>> sets;
  for (const plan::Group& group : plan.groups) {
    if (demand_of(group.shape) != Demand::decode || group.shape.rows() == 0) continue;
    const std::int64_t bytes = record::size_class(bytes_to_read(group.shape, group.stored()));
    for (const plan::Cell& cell : group.cells) {
      sets.insert({reading_threads(cell.ranks, cell.threads), bytes});
    }
  }
  return sets;
}

}  // namespace

int reading_threads(int ranks, int threads) {
  if (ranks == 1) return threads;
  const std::int64_t all = std::int64_t{ranks} * threads;
  return static_cast<int>(std::min<std::int64_t>(all, allowed_cores()));
}

namespace {

// No flag promises that an instruction does not end the process.
void require_working(Unit unit) {
  const std::string reason = machine::try_unit(unit);
  if (reason.empty()) return;
  throw Unavailable(
      fmt::format("unit {} is announced by this processor, but {}; choose another with --unit or "
                  "HEADROOM_UNIT, such as none",
                  to_string(unit), reason));
}

}  // namespace

void measure_products(record::Peaks& peaks, const std::set<int>& threads,
                      const std::set<Precision>& precisions, machine::LimitKernelsOf limits_of,
                      const machine::Stopped& stopped) {
  if (limits_of == nullptr) return;
  if (std::none_of(precisions.begin(), precisions.end(),
                   [](Precision each) { return each != Precision::f32; })) {
    return;
  }
  require_working(peaks.target.unit);
  for (const auto& [numbers, kernel] : limits_of(peaks.target).products) {
    if (!precisions.contains(numbers.precision)) continue;
    for (const int count : threads) {
      if (stopped && stopped()) return;
      const double rate = machine::measure_fma_peak(count, kernel, stopped);
      if (rate > 0) peaks.product_gflops[numbers][count] = rate;
    }
  }
}

namespace {

struct Used {
  std::set<int> threads;
  std::set<Precision> precisions;
};

Used used_by(const plan::Plan& plan) {
  Used used;
  for (const plan::Group& group : plan.groups) {
    for (const plan::Cell& cell : group.cells) {
      used.threads.insert(cell.threads);
      used.precisions.insert(cell.numbers.precision);
    }
  }
  return used;
}

}  // namespace

double seconds_to_measure_peaks(const plan::Plan& plan, machine::LimitKernelsOf limits_of) {
  if (limits_of == nullptr) return 0;
  // To write what is read, and to read it a first time.
  constexpr double kWriteSeconds = 0.2;
  const Used used = used_by(plan);
  const machine::LimitKernels kernels = limits_of(plan.target);
  const auto products = std::count_if(
      kernels.products.begin(), kernels.products.end(),
      [&](const auto& each) { return used.precisions.contains(each.first.precision); });
  const auto rates = static_cast<double>(1 + (kernels.tile != nullptr ? 1 : 0) + products);
  const double of_each = rates * machine::kPeakSeconds + machine::kSustainedSeconds +
                         machine::kReadSeconds + kWriteSeconds;
  return static_cast<double>(used.threads.size()) * of_each +
         static_cast<double>(working_sets(plan).size()) * machine::kReadSeconds;
}

record::Peaks measure_peaks(const plan::Plan& plan, machine::LimitKernelsOf limits_of,
                            const machine::Stopped& stopped) {
  const auto [threads, precisions] = used_by(plan);
  record::Peaks peaks = measure_peaks(plan.target, threads, limits_of, stopped);
  if (limits_of == nullptr) return peaks;
  measure_products(peaks, threads, precisions, limits_of, stopped);
  const machine::ReadKernel read = limits_of(plan.target).read;
  // What would not fit is not measured; its cells are skipped as well.
  const std::int64_t most = machine::usable_memory() / 2;
  for (const auto& [count, bytes] : working_sets(plan)) {
    if (read == nullptr || bytes > most) continue;
    if (stopped && stopped()) return peaks;
    const double gbs = machine::measure_read_bandwidth(count, bytes, read, stopped);
    if (gbs > 0) peaks.read_gbs_of_set[count][bytes] = gbs;
  }
  return peaks;
}

}  // namespace headroom::measure
