#include "sweep/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sweep/numbers.hpp"
#include "sweep/result.hpp"
#include "sweep/statistics.hpp"

namespace headroom::sweep {
namespace {

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto place = std::ceil(share * static_cast<double>(values.size())) - 1;
  return values[static_cast<std::size_t>(std::max(0.0, place))];
}

}  // namespace

std::function<double()> ControlMeters::reader(int threads) {
  if (kernel_ == nullptr) return {};
  std::unique_ptr<machine::FmaMeter>& meter = meters_[threads];
  if (!meter) meter = std::make_unique<machine::FmaMeter>(threads, kernel_);
  return [meter = meter.get()] { return machine::best_of_bursts(*meter); };
}

std::vector<double> steadied(const std::vector<double>& seconds,
                             const std::vector<double>& control) {
  if (control.size() != seconds.size()) return seconds;
  std::vector<double> work(seconds.size());
  std::transform(seconds.begin(), seconds.end(), control.begin(), work.begin(),
                 [](double time, double gflops) { return time * gflops; });
  return work;
}

bool same_control(const CellResult& a, const CellResult& b) {
  if (!a.control || !b.control) return false;
  return a.control->isa == b.control->isa && a.control->threads == b.control->threads;
}

double share_of_control(double flops, const std::vector<double>& seconds,
                        const std::vector<double>& control) {
  return flops * 1e-9 / median(steadied(seconds, control));
}

double scatter(const std::vector<double>& values) {
  const double middle = median(values);
  return (percentile(values, 0.9) - percentile(values, 0.1)) / middle;
}

std::string beyond_peak(const CellResult& result) {
  // A peak taken once a run may be off by what the clock drifts; one taken beside each sample, by
  // what its own readings scatter.
  constexpr double kLeastMargin = 0.05;
  const double margin =
      std::max(kLeastMargin, result.control ? scatter(result.control->gflops) : 0.0);
  if (!result.peak_fraction || *result.peak_fraction <= 1 + margin) return "";
  return fmt::format(
      "impossible time: {:.0f} % of the FMA rate measured beside it, where {:.0f} % are allowed "
      "for "
      "noise; measure again on a quieter machine, or mend the clock",
      100 * *result.peak_fraction, 100 * (1 + margin));
}

std::optional<NoiseFloor> noise_floor(const std::vector<CellResult>& results) {
  std::vector<double> off;
  for (const CellResult& result : results) {
    if (result.again) off.push_back(std::abs(result.again->ratio - 1));
  }
  if (off.empty()) return std::nullopt;
  return NoiseFloor{percentile(off, 0.95), off.size()};
}

std::vector<ControlDrift> control_drift(const std::vector<CellResult>& results) {
  std::map<int, std::vector<double>> cells, within;
  for (const CellResult& result : results) {
    if (!result.control) continue;
    cells[result.control->threads].push_back(median(result.control->gflops));
    within[result.control->threads].push_back(scatter(result.control->gflops));
  }
  std::vector<ControlDrift> drifts;
  for (const auto& [threads, medians] : cells) {
    const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
    drifts.push_back({threads, median(medians), *most / *least - 1, median(within[threads])});
  }
  return drifts;
}

std::string noise_lines(const std::vector<CellResult>& results) {
  std::string text;
  for (const ControlDrift& drift : control_drift(results)) {
    fmt::format_to(std::back_inserter(text),
                   "control on {}: {:.1f} GFLOP/s, varied by {:.1f} % from cell to cell, "
                   "by {:.1f} % within one\n",
                   counted(drift.threads, "thread"), drift.gflops, 100 * drift.between,
                   100 * drift.within);
  }
  if (const std::optional<NoiseFloor> floor = noise_floor(results)) {
    fmt::format_to(std::back_inserter(text),
                   "noise floor: {:.1f} % between one layer and itself, timed twice in {}\n",
                   100 * floor->floor, counted(floor->count, "shape"));
  }
  return text;
}

}  // namespace headroom::sweep
