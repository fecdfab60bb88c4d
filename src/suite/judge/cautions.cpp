#include "judge/cautions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "judge/core_rate.hpp"
#include "judge/credible_roofs.hpp"
#include "judge/noise.hpp"
#include "program/numbers.hpp"
#include "statistics/samples.hpp"

namespace headroom::judge {
namespace {

// An idle machine has a lower load; another program that keeps one core busy raises it to 1.
constexpr double kMostLoad = 0.7;
constexpr double kMostStolen = 0.01;
// Above these, noise hides the differences that users care about.
constexpr double kMostDrift = 0.1;
constexpr double kMostNoise = 0.1;
// Clocks repeat within a percent, and a step of the frequency is about 3 % of it.
constexpr double kMostOffClock = 0.03;

// How far the control moved from cell to cell, for the thread count with the largest change.
double drift(const std::vector<record::CellResult>& results) {
  double widest = 0;
  for (const ControlDrift& drift : control_drift(results)) {
    widest = std::max(widest, drift.between);
  }
  return widest;
}

// A cell whose clock and the one of its roof are known.
struct Clocked {
  const record::CellResult* result = nullptr;
  double cell = 0;  // GHz, the median of its samples
  double roof = 0;  // GHz

  double off() const { return std::abs(cell / roof - 1); }
};

std::vector<Clocked> clocked(const std::vector<record::CellResult>& results,
                             const record::Peaks& roofs) {
  std::vector<Clocked> cells;
  for (const record::CellResult& result : results) {
    if (!result.control || result.control->clock_ghz.empty()) continue;
    const auto roof = roofs.clock_ghz.find(result.control->threads);
    if (roof == roofs.clock_ghz.end() || !(roof->second > 0)) continue;
    cells.push_back({&result, statistics::median(result.control->clock_ghz), roof->second});
  }
  return cells;
}

// Empty if all ran at the clock of their roofs.
std::string off_clock(const std::vector<record::CellResult>& results, const record::Peaks& roofs) {
  std::size_t count = 0;
  Clocked worst;
  const std::vector<Clocked> cells = clocked(results, roofs);
  for (const Clocked& cell : cells) {
    if (!(cell.off() > kMostOffClock)) continue;
    if (++count == 1 || cell.off() > worst.off()) worst = cell;
  }
  if (count == 0) return "";
  return fmt::format(
      "{} of {} ran at another clock than the roof was measured at, such as {} at {:.2f} GHz and "
      "its roof at {:.2f}: go by its share of the rate beside it, not by the roof, or fix the "
      "clock and measure again",
      count, counted(cells.size(), "cell"), worst.result->cell.id, worst.cell, worst.roof);
}

// Empty if all threads had a core each, as far as is known.
std::string few_cores(const std::vector<record::CellResult>& results, const record::Peaks& roofs) {
  std::size_t known = 0;
  std::size_t count = 0;
  const record::CellResult* worst = nullptr;
  double least = 0;  // cores of the worst
  for (const record::CellResult& result : results) {
    known += core_rate(result, roofs) ? 1 : 0;
    const std::optional<double> cores = too_few_cores(result, roofs);
    if (!cores) continue;
    ++count;
    if (worst != nullptr && *cores / result.threads >= least / worst->threads) continue;
    worst = &result;
    least = *cores;
  }
  if (worst == nullptr) return "";
  return fmt::format(
      "{} of {} on several threads had fewer cores than threads, such as {}: {}; other programs "
      "look like this, and so do virtual cores that share a physical one: measure again on a "
      "quieter or dedicated host",
      count, counted(known, "cell"), worst->cell.id, core_rate_words(*worst, least));
}

// Empty where nothing was throttled, as far as is known.
std::string throttling(const std::vector<record::CellResult>& results) {
  std::size_t known = 0;
  std::size_t count = 0;
  for (const record::CellResult& result : results) {
    const auto samples = result.used ? result.used->throttled_samples() : std::nullopt;
    known += samples ? 1 : 0;
    count += samples.value_or(0) > 0 ? 1 : 0;
  }
  if (count == 0) return "";
  return fmt::format(
      "a core or a package was throttled, because it was hot, while {} of {} were measured: their "
      "times are those of a slower machine; cool it better or let it rest, and measure again",
      count, counted(known, "cell"));
}

}  // namespace

std::vector<std::string> cautions_before(const machine::Conditions& now, bool release_build) {
  std::vector<std::string> cautions;
  if (!release_build) {
    cautions.emplace_back(
        "this program is not a Release build, so its times are meaningless; build it with cmake "
        "--preset release");
  }
  if (now.load && *now.load > kMostLoad) {
    cautions.push_back(
        fmt::format("the load over the last minute is {:.1f}: something else is or was running on "
                    "this machine; "
                    "wait until it is below {}",
                    *now.load, kMostLoad));
  }
  if (now.governor && *now.governor != "performance") {
    cautions.push_back(
        fmt::format("the frequency governor is '{}', so the clock follows the load; change it "
                    "with: cpupower frequency-set --governor performance",
                    *now.governor));
  }
  return cautions;
}

std::vector<std::string> cautions_after(const std::vector<record::CellResult>& results,
                                        double stolen, const record::Peaks& measured) {
  std::vector<std::string> cautions;
  if (stolen > kMostStolen) {
    cautions.push_back(
        fmt::format("the hypervisor gave {:.1f} % of the processor time to other machines; "
                    "measure again on a quieter or dedicated host",
                    100 * stolen));
  }
  if (const double moved = drift(results); moved > kMostDrift) {
    cautions.push_back(fmt::format(
        "the machine's own speed varied by {:.0f} % between cells: compare cells of one "
        "shape, or two runs with headroom compare, but not times across shapes",
        100 * moved));
  }
  const record::Peaks roofs = credible_roofs(measured, results);
  for (std::string& raised : raised_words(measured, roofs)) cautions.push_back(std::move(raised));
  if (std::string clock = off_clock(results, roofs); !clock.empty()) {
    cautions.push_back(std::move(clock));
  }
  if (std::string cores = few_cores(results, roofs); !cores.empty()) {
    cautions.push_back(std::move(cores));
  }
  if (std::string hot = throttling(results); !hot.empty()) cautions.push_back(std::move(hot));
  const std::optional<NoiseFloor> noise = noise_floor(results);
  if (noise && noise->floor > kMostNoise) {
    cautions.push_back(
        fmt::format("equal layers differed by up to {:.0f} %: smaller differences are noise; use "
                    "more --repetitions or a longer --min-time on a quieter machine",
                    100 * noise->floor));
  }
  return cautions;
}

}  // namespace headroom::judge
