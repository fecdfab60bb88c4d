// Compares a result with the oracle's.
#pragma once

#include <cstdint>
#include <string>

#include "headroom/view.hpp"
#include "reference/limits.hpp"
#include "reference/oracle.hpp"

namespace headroom::reference {

/// Which limit of docs/numerics.md applies.
enum class Data {
  standard,     ///< Gaussian inputs: norm-wise limits
  adversarial,  ///< large logits or cancelling values: a limit per element
};

/// The most that `Comparison::bound_ratio` may be.
inline constexpr double kBoundLimit = 1;

/// Errors of a result, their limits, and the verdict.
struct Comparison {
  double nrmse = 0;         ///< `|o - r| / |r|`
  double max_over_rms = 0;  ///< `max |o - r| / rms(r)`
  double bound_ratio = 0;   ///< worst `|o - r|` / bound (element_bound.hpp)
  std::int64_t worst_row = 0;
  std::int64_t worst_col = 0;
  bool passed = false;
  std::string reason;  ///< what is wrong and where; empty if passed
  Limits limits = {};  ///< of the first two; for standard data they decide
  Data data = Data::standard;

  /// Whether `bound_ratio` decides.
  bool by_element() const { return data == Data::adversarial; }
};

/// Compares the rows that `expected` has. NaN or Inf where the oracle has a number fails; the
/// oracle's own NaN must be met by NaN.
/// @param y all `B * T` rows of the result.
/// @param numbers what the result was computed with and stored as; for adversarial data `expected`
///        needs the bound of their `limit_class`
/// @throws InvalidArgument for sizes that do not fit, or a bound that is missing.
Comparison compare(const Expected& expected, ConstMatrixView y, Data data,
                   const Numbers& numbers = {});

/// `|a - b| / |b|` over all elements, such as what storing weights in few bits costs.
/// @param a, b of the same rows
double distance(const Expected& a, const Expected& b);

}  // namespace headroom::reference
