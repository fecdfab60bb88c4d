#include "statistics/many_tests.hpp"

#include <algorithm>
#include <numeric>

namespace headroom::statistics {

std::vector<double> correct_for_many(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return p[x] < p[y]; });
  std::vector<double> corrected(p.size());
  double smallest = 1;
  for (std::size_t rank = p.size(); rank > 0; --rank) {
    const double share = static_cast<double>(p.size()) / static_cast<double>(rank);
    smallest = std::min(smallest, p[order[rank - 1]] * share);
    corrected[order[rank - 1]] = smallest;
  }
  return corrected;
}

}  // namespace headroom::statistics
