#include "judge/credible_roofs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

#include "program/numbers.hpp"
#include "statistics/samples.hpp"

namespace headroom::judge {
namespace {

// Peaks of a quiet machine repeat within this.
constexpr double kSteady = 0.03;
constexpr std::size_t kConfirmedByOneOf = 10;

// What the control reached beside one cell.
struct Reading {
  double gflops = 0;
  std::optional<double> clock_ghz;
};

using Readings = std::map<int, std::vector<Reading>>;  // by threads

void add(Readings& readings, const record::Control& control, const std::vector<double>& gflops) {
  if (gflops.size() < statistics::kLeastSamples) return;
  Reading reading{statistics::median(gflops), {}};
  if (!control.clock_ghz.empty()) reading.clock_ghz = statistics::median(control.clock_ghz);
  readings[control.threads].push_back(reading);
}

Reading confirmed(std::vector<Reading> all) {
  std::sort(all.begin(), all.end(),
            [](const Reading& a, const Reading& b) { return a.gflops > b.gflops; });
  const std::size_t place = std::max<std::size_t>(1, all.size() / kConfirmedByOneOf);
  return all[std::min(place, all.size() - 1)];
}

Reading sustained_of(const record::Peaks& peaks, int threads) {
  Reading reading;
  const auto gflops = peaks.sustained_gflops.find(threads);
  if (gflops != peaks.sustained_gflops.end()) reading.gflops = gflops->second;
  const auto clock = peaks.sustained_clock_ghz.find(threads);
  if (clock != peaks.sustained_clock_ghz.end()) reading.clock_ghz = clock->second;
  return reading;
}

void note_raised(const std::map<int, double>& measured, const std::map<int, double>& roofs,
                 const char* what, std::vector<std::string>& words) {
  for (const auto& [threads, roof] : roofs) {
    const auto before = measured.find(threads);
    if (before == measured.end() || !(roof > (1 + kSteady) * before->second)) continue;
    words.push_back(
        fmt::format("the roof of {} on {} is {:.1f} GFLOP/s, which later readings reached: before "
                    "the first cell it was {:.1f}, in a disturbed moment",
                    what, counted(threads, "thread"), roof, before->second));
  }
}

}  // namespace

record::Peaks credible_roofs(const record::Peaks& measured,
                             const std::vector<record::CellResult>& results) {
  Readings fma, tile;
  for (const record::CellResult& result : results) {
    // Beside the leading one of several ranks, the others may be busy.
    if (!result.has_time() || !result.control || result.cell.ranks > 1) continue;
    if (result.control->isa != to_string(measured.target.isa)) continue;
    add(fma, *result.control, result.control->gflops);
    add(tile, *result.control, result.control->tile_gflops);
  }
  record::Peaks roofs = measured;
  for (auto& [threads, roof] : roofs.fma_gflops) {
    Reading best = sustained_of(measured, threads);
    if (const auto readings = fma.find(threads); readings != fma.end()) {
      const Reading later = confirmed(readings->second);
      if (later.gflops > best.gflops) best = later;
    }
    if (!(best.gflops > roof)) continue;
    // What was sustained in a disturbed moment says nothing of how long the machine holds its rate.
    if (best.gflops > (1 + kSteady) * roof) {
      roofs.sustained_gflops.erase(threads);
      roofs.sustained_clock_ghz.erase(threads);
    }
    roof = best.gflops;
    if (best.clock_ghz) roofs.clock_ghz[threads] = *best.clock_ghz;
  }
  for (auto& [threads, roof] : roofs.tile_gflops) {
    const auto readings = tile.find(threads);
    if (readings != tile.end()) roof = std::max(roof, confirmed(readings->second).gflops);
  }
  return roofs;
}

record::Peaks roofs_of(const record::ResultsFolder& folder) {
  return credible_roofs(record::peaks_of(folder.environment), folder.results);
}

std::vector<std::string> raised_words(const record::Peaks& measured, const record::Peaks& roofs) {
  std::vector<std::string> words;
  note_raised(measured.fma_gflops, roofs.fma_gflops, "multiply-adds", words);
  note_raised(measured.tile_gflops, roofs.tile_gflops, "register tiles", words);
  return words;
}

}  // namespace headroom::judge
