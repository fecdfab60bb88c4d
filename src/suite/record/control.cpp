#include "record/control.hpp"

#include <algorithm>

#include "statistics/samples.hpp"

namespace headroom::record {

std::vector<double> steadied(const std::vector<double>& seconds,
                             const std::vector<double>& control) {
  if (control.size() != seconds.size()) return seconds;
  std::vector<double> work(seconds.size());
  std::transform(seconds.begin(), seconds.end(), control.begin(), work.begin(),
                 [](double time, double gflops) { return time * gflops; });
  return work;
}

double share_of_rates(double flops, const std::vector<double>& seconds,
                      const std::vector<double>& gflops) {
  return flops * 1e-9 / statistics::median(steadied(seconds, gflops));
}

}  // namespace headroom::record
