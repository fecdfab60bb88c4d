#include "store/unverified.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/noise.hpp"
#include "program/numbers.hpp"
#include "reference/comparator.hpp"
#include "statistics/intervals.hpp"

namespace headroom::store {
namespace {

bool is_near(double value, double expected) {
  constexpr double kRounding = 1e-6;
  return std::abs(value - expected) <= kRounding * std::abs(expected);
}

std::string why_no_check(const record::CellResult& result) {
  if (!result.error || (result.checked_rows == 0 && result.shape.rows() > 0)) {
    return fmt::format("none of its {} was checked", counted(result.shape.rows(), "row"));
  }
  const reference::Comparison& error = *result.error;
  if (error.by_element()) {
    if (error.bound_ratio <= reference::kBoundLimit) return "";
    return fmt::format("its error is {:.3g} times the bound of an element; {} is allowed",
                       error.bound_ratio, reference::kBoundLimit);
  }
  // The limits of the record may say anything. A peer has its own, and is not ranked among ours.
  const reference::Limits limits =
      result.peer ? error.limits : reference::limits_of(result.cell.numbers);
  if (!(error.nrmse <= limits.nrmse)) {
    return fmt::format("its nrmse is {:.3g}; {} is allowed", error.nrmse, limits.nrmse);
  }
  if (!(error.max_over_rms <= limits.max_over_rms)) {
    return fmt::format("its largest error over the rms is {:.3g}; {} is allowed",
                       error.max_over_rms, limits.max_over_rms);
  }
  return "";
}

std::string why_no_summary(const record::TimeSummary& time) {
  const double median =
      statistics::pooled_median(statistics::by_process(time.samples, time.processes));
  if (!is_near(time.median, median)) {
    return fmt::format("its median is {}, and that of its samples {}", format_seconds(time.median),
                       format_seconds(median));
  }
  const double least = *std::min_element(time.samples.begin(), time.samples.end());
  if (!is_near(time.min, least)) {
    return fmt::format("its smallest time is {}, and that of its samples {}",
                       format_seconds(time.min), format_seconds(least));
  }
  return "";
}

}  // namespace

std::string why_unverified(const record::CellResult& result) {
  std::string why = why_no_check(result);
  if (why.empty()) why = why_no_summary(result.time);
  if (why.empty()) why = judge::beyond_peak(result);
  return why;
}

}  // namespace headroom::store
