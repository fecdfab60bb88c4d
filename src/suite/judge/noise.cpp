#include "judge/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "program/numbers.hpp"
#include "statistics/samples.hpp"

namespace headroom::judge {

bool same_control(const record::CellResult& a, const record::CellResult& b) {
  if (!a.control || !b.control) return false;
  return a.control->isa == b.control->isa && a.control->threads == b.control->threads &&
         a.cell.ranks == b.cell.ranks;
}

std::string beyond_peak(const record::CellResult& result) {
  // A peak measured once per run may be off by the drift of the clock; one measured beside each
  // sample, by the scatter of its own readings.
  constexpr double kLeastMargin = 0.05;
  // Roofs of products are measured once, perhaps while somebody else had half of the core.
  constexpr double kMarginOfProducts = 1;
  const Precision precision = result.cell.numbers.precision;
  const double margin =
      std::max(precision == Precision::f32 ? kLeastMargin : kMarginOfProducts,
               result.control ? statistics::scatter(result.control->gflops) : 0.0);
  if (!result.peak_fraction || *result.peak_fraction <= 1 + margin) return "";
  const std::string roof =
      precision == Precision::f32
          ? "the FMA rate measured beside it"
          : fmt::format("the rate of products measured for {}", to_string(precision));
  return fmt::format(
      "impossible time: {:.0f} % of {}; noise explains at most {:.0f} %; measure again on a "
      "quieter machine, or check its clock",
      100 * *result.peak_fraction, roof, 100 * (1 + margin));
}

std::optional<NoiseFloor> noise_floor(const std::vector<record::CellResult>& results) {
  std::vector<double> off;
  for (const record::CellResult& result : results) {
    if (result.again) off.push_back(std::abs(result.again->ratio - 1));
  }
  if (off.empty()) return std::nullopt;
  return NoiseFloor{statistics::percentile(off, 0.95), off.size()};
}

std::string control_words(const ControlDrift& drift) {
  std::string threads = counted(drift.threads, "thread");
  if (drift.ranks == 1) return threads;
  return fmt::format("{} of the leading one of {} ranks", threads, drift.ranks);
}

std::vector<ControlDrift> control_drift(const std::vector<record::CellResult>& results) {
  using RanksAndThreads = std::pair<int, int>;
  std::map<RanksAndThreads, std::vector<double>> cells, within;
  for (const record::CellResult& result : results) {
    if (!result.control) continue;
    const RanksAndThreads place(result.cell.ranks, result.control->threads);
    cells[place].push_back(statistics::median(result.control->gflops));
    within[place].push_back(statistics::scatter(result.control->gflops));
  }
  std::vector<ControlDrift> drifts;
  for (const auto& [place, medians] : cells) {
    const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
    drifts.push_back({place.first, place.second, statistics::median(medians), *most / *least - 1,
                      statistics::median(within[place])});
  }
  return drifts;
}

}  // namespace headroom::judge
