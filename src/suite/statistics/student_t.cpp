#include "statistics/student_t.hpp"

#include <cmath>
#include <limits>

#include "statistics/samples.hpp"

namespace headroom::statistics {
namespace {

// The continued fraction of I_x(a, b), by Lentz's method. It converges fast for x < (a+1)/(a+b+2).
double beta_fraction(double x, double a, double b) {
  constexpr int kMostTerms = 1000;
  constexpr double kTiny = 1e-300;  // in place of a zero, which would end the recurrence
  constexpr double kConverged = 1e-15;
  const auto term = [&](int index) {
    const int half = index / 2;
    const double m = half;
    if (index % 2 == 0) return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
  };
  const auto not_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double numerator = 1;
  double denominator = 1 / not_zero(1 + term(1));
  double value = denominator;
  for (int index = 2; index < kMostTerms; ++index) {
    denominator = 1 / not_zero(1 + term(index) * denominator);
    numerator = not_zero(1 + term(index) / numerator);
    const double step = numerator * denominator;
    value *= step;
    if (std::fabs(step - 1) < kConverged) break;
  }
  return value;
}

double regularised_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

// Of the mean.
double squared_error(const std::vector<double>& values) {
  const double deviation = standard_deviation(values);
  return deviation * deviation / static_cast<double>(values.size());
}

}  // namespace

double student_t_p(double t, double freedom) {
  return regularised_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double student_t_quantile(double p, double freedom) {
  double low = 0;
  double high = 1;
  while (student_t_p(high, freedom) > p && std::isfinite(high)) high *= 2;
  constexpr int kHalvings = 200;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    (student_t_p(middle, freedom) > p ? low : high) = middle;
  }
  return high;
}

double welch_p(const std::vector<double>& a, const std::vector<double>& b) {
  const double difference = mean(a) - mean(b);
  const double of_a = squared_error(a);
  const double of_b = squared_error(b);
  const double together = of_a + of_b;
  if (!(together > 0)) return difference == 0 ? 1 : 0;
  const double freedom = together * together /
                         (of_a * of_a / static_cast<double>(a.size() - 1) +
                          of_b * of_b / static_cast<double>(b.size() - 1));
  return student_t_p(difference / std::sqrt(together), freedom);
}

}  // namespace headroom::statistics
