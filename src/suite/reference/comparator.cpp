#include "reference/comparator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "headroom/error.hpp"

namespace headroom::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Element {
  std::int64_t row = 0;
  std::int64_t col = 0;
  double found = 0;
  double expected = 0;
  double error = -1;  // below any real error, so that the first element counts as worst
  double bound_ratio = -1;

  std::string text() const {
    return fmt::format("row {}, column {}: found {:.9g}, expected {:.9g}", row, col, found,
                       expected);
  }
};

// 0 / 0 counts as no error. An error over 0 is beyond any limit, and so is one over NaN.
double ratio(double error, double size) {
  if (error == 0) return 0;
  return size > 0 && std::isfinite(size) ? error / size : kInfinity;
}

bool numbers_of_one_kind(double found, double expected) {
  if (std::isnan(expected)) return std::isnan(found);
  if (std::isinf(expected)) return found == expected;
  return std::isfinite(found);
}

// Collected in one pass over all elements.
struct Sums {
  double squared_error = 0;
  double squared_expected = 0;
  std::int64_t finite = 0;
  Element worst;        // largest error
  Element worst_bound;  // largest error relative to its own bound
  Element other_kind;   // the first NaN or Inf that the oracle does not have, or the reverse
  std::int64_t other_kinds = 0;

  void add(Element element, double bound) {
    if (!numbers_of_one_kind(element.found, element.expected)) {
      if (other_kinds++ == 0) other_kind = element;
      return;
    }
    if (!std::isfinite(element.expected)) return;
    element.error = std::abs(element.found - element.expected);
    element.bound_ratio = ratio(element.error, bound);
    squared_error += element.error * element.error;
    squared_expected += element.expected * element.expected;
    ++finite;
    if (element.error > worst.error) worst = element;
    if (element.bound_ratio > worst_bound.bound_ratio) worst_bound = element;
  }
};

void check_sizes(const Expected& expected, ConstMatrixView y) {
  const std::int64_t last = expected.rows.empty() ? -1 : expected.rows.back();
  if (y.cols == expected.width && y.rows > last) return;
  throw InvalidArgument(
      fmt::format("comparator: y is {} x {}; the oracle has {} columns and rows up to {}; pass all "
                  "rows of the result",
                  y.rows, y.cols, expected.width, last));
}

// For standard data a bound is told, but no limit, so it may be missing.
const std::vector<double>* bound_of(const Expected& expected, Data data, const Numbers& numbers) {
  const Precision wanted = limit_class(numbers);
  if (wanted == Precision::f32) return &expected.bound;
  const auto found = expected.coarse_bounds.find(wanted);
  if (found != expected.coarse_bounds.end()) return &found->second;
  if (data == Data::standard) return nullptr;
  throw InvalidArgument(
      fmt::format("comparator: adversarial data has no bound for {}; ask the oracle for it",
                  headroom::to_string(numbers)));
}

Sums gather(const Expected& expected, ConstMatrixView y, const std::vector<double>* bound) {
  Sums sums;
  std::size_t at = 0;
  for (std::size_t i = 0; i < expected.rows.size(); ++i) {
    const std::int64_t row = expected.rows[i];
    for (std::int64_t c = 0; c < expected.width; ++c, ++at) {
      Element element;
      element.row = row;
      element.col = c;
      element.found = static_cast<double>(y.row(row)[c]);
      element.expected = expected.y[at];
      sums.add(element, bound == nullptr ? kInfinity : (*bound)[at]);
    }
  }
  return sums;
}

std::string above(std::string_view metric, double value, double limit, const Element& worst) {
  return fmt::format("{} {:.3g} is above the limit {:.3g}; worst at {}", metric, value, limit,
                     worst.text());
}

// Written as !(a <= b), so that a NaN can never pass.
void judge(Comparison& result, const Sums& sums) {
  if (sums.other_kinds > 0) {
    result.reason = fmt::format(
        "{} elements are NaN or Inf where the oracle is not, or the reverse; first at {}",
        sums.other_kinds, sums.other_kind.text());
  } else if (result.by_element()) {
    if (!(result.bound_ratio <= kBoundLimit)) {
      result.reason = above("error / bound", result.bound_ratio, kBoundLimit, sums.worst_bound);
    }
  } else if (!(result.max_over_rms <= result.limits.max_over_rms)) {
    result.reason =
        above("max_over_rms", result.max_over_rms, result.limits.max_over_rms, sums.worst);
  } else if (!(result.nrmse <= result.limits.nrmse)) {
    result.reason = above("nrmse", result.nrmse, result.limits.nrmse, sums.worst);
  }
  result.passed = result.reason.empty();
}

}  // namespace

Comparison compare(const Expected& expected, ConstMatrixView y, Data data, const Numbers& numbers) {
  check_sizes(expected, y);
  const std::vector<double>* bound = bound_of(expected, data, numbers);
  const Sums sums = gather(expected, y, bound);
  Comparison result;
  result.limits = limits_of(numbers);
  result.data = data;
  const Element* worst = data == Data::adversarial ? &sums.worst_bound : &sums.worst;
  if (sums.finite > 0) {
    const double rms = std::sqrt(sums.squared_expected / static_cast<double>(sums.finite));
    result.nrmse = ratio(std::sqrt(sums.squared_error), std::sqrt(sums.squared_expected));
    result.max_over_rms = ratio(sums.worst.error, rms);
    if (bound != nullptr) result.bound_ratio = sums.worst_bound.bound_ratio;
  }
  if (sums.other_kinds > 0) {
    worst = &sums.other_kind;
    result.nrmse = result.max_over_rms = result.bound_ratio = kInfinity;
  }
  result.worst_row = worst->row;
  result.worst_col = worst->col;
  judge(result, sums);
  return result;
}

double distance(const Expected& a, const Expected& b) {
  double differences = 0;
  double squares = 0;
  for (std::size_t i = 0; i < b.y.size(); ++i) {
    differences += (a.y[i] - b.y[i]) * (a.y[i] - b.y[i]);
    squares += b.y[i] * b.y[i];
  }
  return squares > 0 ? std::sqrt(differences / squares) : 0;
}

}  // namespace headroom::reference
