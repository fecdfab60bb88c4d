#include "tune/tuned.hpp"

#include <cmath>

namespace headroom::tune {

double VariantTimes::mean_ratio() const {
  double sum = 0;
  for (const judge::Difference& difference : by_shape) sum += std::log(difference.ratio);
  return by_shape.empty() ? 1 : std::exp(sum / static_cast<double>(by_shape.size()));
}

}  // namespace headroom::tune
