#include "trend/levels.hpp"

#include <cmath>
#include <numbers>

#include "statistics/samples.hpp"
#include "statistics/student_t.hpp"

namespace headroom::trend {

Level level_of(const std::vector<double>& launches) {
  const double deviation = statistics::standard_deviation(launches);
  // The median of two is their mean; that of more scatters more than their mean would.
  const double of_a_median = launches.size() < 3 ? 1 : std::numbers::pi / 2;
  return {statistics::median(launches),
          of_a_median * deviation * deviation / static_cast<double>(launches.size())};
}

double mean_of(const Levels& levels, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += levels[i].value;
  return sum / static_cast<double>(end - begin);
}

double within_of(const Levels& levels, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += levels[i].within;
  return sum / static_cast<double>(end - begin);
}

double squares_of(const Levels& levels, std::size_t begin, std::size_t end) {
  const double mean = mean_of(levels, begin, end);
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) {
    sum += (levels[i].value - mean) * (levels[i].value - mean);
  }
  return sum;
}

// p of a difference whose variance is estimated. Without any spread levels differ or not.
double p_of(double squared_difference, double variance, double freedom) {
  if (!(variance > 0)) return squared_difference > 0 ? 0 : 1;
  return statistics::student_t_p(std::sqrt(squared_difference / variance), freedom);
}

}  // namespace headroom::trend
