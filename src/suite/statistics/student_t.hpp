// Student's t distribution, for few values whose spread is not known but estimated.
#pragma once

#include <vector>

namespace headroom::statistics {

/// Probability of a |t| at least as large as this one, with `freedom` degrees of freedom (any
/// positive number). By Boost.Math.
double student_t_p(double t, double freedom);

/// The t that is exceeded in absolute value with probability `p`. @pre 0 < p < 1
double student_t_quantile(double p, double freedom);

/// Two-sided p of Welch's test, that two lists have the same mean although their spreads may differ
/// (Welch 1947, Biometrika 34). Lists without any spread differ or not: 0 or 1.
/// @pre both have at least two values.
double welch_p(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headroom::statistics
