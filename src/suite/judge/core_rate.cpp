#include "judge/core_rate.hpp"

#include <fmt/format.h>

#include <map>

#include "program/numbers.hpp"
#include "statistics/samples.hpp"

namespace headroom::judge {
namespace {

// Every thread does the same part of a burst, which ends with the last: one core that two threads
// share halves the rate of all, however many they are. This lies halfway between that and 1.
constexpr double kLeastShare = 0.75;

std::optional<double> positive_at(const std::map<int, double>& values, int threads) {
  const auto value = values.find(threads);
  if (value == values.end() || !(value->second > 0)) return std::nullopt;
  return value->second;
}

}  // namespace

std::optional<double> core_rate(const record::CellResult& result, const record::Peaks& roofs) {
  if (!result.has_time() || !result.control || result.control->threads < 2) return std::nullopt;
  const std::optional<double> alone = positive_at(roofs.fma_gflops, 1);
  if (!alone) return std::nullopt;
  const double cores = statistics::median(result.control->gflops) / *alone;
  // A turbo lowers the clock the more cores are busy; that makes the cores no fewer.
  const std::optional<double> clock_alone = positive_at(roofs.clock_ghz, 1);
  if (!clock_alone || result.control->clock_ghz.empty()) return cores;
  return cores * *clock_alone / statistics::median(result.control->clock_ghz);
}

std::optional<double> too_few_cores(const record::CellResult& result, const record::Peaks& roofs) {
  const std::optional<double> cores = core_rate(result, roofs);
  if (!cores || *cores >= kLeastShare * result.control->threads) return std::nullopt;
  return cores;
}

std::string core_rate_words(const record::CellResult& result, double cores) {
  return fmt::format("{}{} ran at the rate of {:.1f} cores", counted(result.threads, "thread"),
                     result.cell.ranks > 1 ? " of the leading rank" : "", cores);
}

}  // namespace headroom::judge
