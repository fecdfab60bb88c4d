// What attention does to every score: 2^x, on values that stay in the first cache.

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/rows.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::bench {
namespace {

constexpr std::size_t kCount = 4096;

struct Problem {
  std::vector<float> x = std::vector<float>(kCount);
  std::vector<float> y = std::vector<float>(kCount);
};

Prepared prepare(Isa isa) {
  const auto problem = std::make_shared<Problem>();
  for (std::size_t i = 0; i < kCount; ++i) problem->x[i] = -static_cast<float>(i) / 64;
  const auto run = [problem, exp2 = simd::kernel_table(isa).exp2] {
    exp2(problem->x.data(), problem->y.data(), kCount);
  };
  run();
  for (std::size_t i = 0; i < kCount; ++i) {
    const double right = std::exp2(static_cast<double>(problem->x[i]));
    if (std::abs(static_cast<double>(problem->y[i]) - right) > 0x1p-22 * right) {
      return {run, "wrong result"};
    }
  }
  return {run, ""};
}

}  // namespace

void register_elementwise() {
  for (const Isa isa : available_isas()) {
    Row row;
    row.name = fmt::format("exp2/{}/t1", to_string(isa));
    row.isa = isa;
    // Counted as one multiply-add a value; the inverse of its share is what one 2^x costs in them.
    row.flops = 2.0 * static_cast<double>(kCount);
    row.prepare = [isa] { return prepare(isa); };
    add_row(row);
  }
}

}  // namespace headroom::bench
