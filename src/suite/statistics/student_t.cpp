#include "statistics/student_t.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/policies/policy.hpp>
#include <cmath>

#include "statistics/samples.hpp"

namespace headroom::statistics {
namespace {

namespace policies = boost::math::policies;

// What has no answer is NaN, not an exception.
using StudentT = boost::math::students_t_distribution<
    double, policies::policy<policies::domain_error<policies::ignore_error>,
                             policies::overflow_error<policies::ignore_error>>>;

// Of the mean.
double squared_error(const std::vector<double>& values) {
  const double deviation = standard_deviation(values);
  return deviation * deviation / static_cast<double>(values.size());
}

}  // namespace

double student_t_p(double t, double freedom) {
  return 2 * cdf(complement(StudentT(freedom), std::fabs(t)));
}

double student_t_quantile(double p, double freedom) {
  return quantile(complement(StudentT(freedom), p / 2));
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
