// What attention does to every score: 2^x alone, and the softmax of one tile, in the L1 cache.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/rows.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::bench {
namespace {

constexpr std::size_t kCount = 4096;

bool close(float value, double right) {
  return std::abs(static_cast<double>(value) - right) <= 0x1p-20 * right;
}

struct Problem {
  std::vector<float> x = std::vector<float>(kCount);
  std::vector<float> y = std::vector<float>(kCount);
};

Prepared prepare_exp2(Isa isa) {
  const auto problem = std::make_shared<Problem>();
  for (std::size_t i = 0; i < kCount; ++i) problem->x[i] = -static_cast<float>(i) / 64;
  const auto run = [problem, exp2 = simd::kernel_table(isa).exp2] {
    exp2(problem->x.data(), problem->y.data(), kCount);
  };
  run();
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!close(problem->y[i], std::exp2(static_cast<double>(problem->x[i])))) {
      return {run, "wrong result"};
    }
  }
  return {run, ""};
}

// Later runs use the weights of the previous run as scores: different numbers, but the same work.
Prepared prepare_softmax(Isa isa) {
  const simd::KernelTable& kernels = simd::kernel_table(isa);
  const auto rows = static_cast<std::size_t>(kernels.tile_rows);
  const auto keys = static_cast<std::size_t>(simd::kKeyBlock);
  const auto chunk = static_cast<std::size_t>(simd::kChunk);
  const auto problem = std::make_shared<Problem>();
  problem->x.resize(rows * keys);
  problem->y.resize(rows);
  for (std::size_t i = 0; i < rows * keys; ++i) {
    problem->x[i] = static_cast<float>(i * 7919 % 1000) / 100;
  }
  const std::vector<float> scores = problem->x;
  const auto run = [problem, softmax = kernels.softmax_tile] {
    softmax(problem->x.data(), problem->y.data());
  };
  run();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto at = [&](std::size_t k) { return (k / chunk * rows + r) * chunk + k % chunk; };
    float max = scores[at(0)];
    for (std::size_t k = 0; k < keys; ++k) max = std::max(max, scores[at(k)]);
    double sum = 0;
    for (std::size_t k = 0; k < keys; ++k) {
      const double weight = std::exp2(static_cast<double>(scores[at(k)] - max));
      if (!close(problem->x[at(k)], weight)) return {run, "wrong result"};
      sum += weight;
    }
    if (!close(problem->y[r], sum)) return {run, "wrong result"};
  }
  return {run, ""};
}

// Counted as one multiply-add per value; the inverse of its share is the cost per value in
// multiply-adds.
Row row_of(std::string name, Isa isa, std::int64_t values, std::function<Prepared()> prepare) {
  Row row;
  row.name = std::move(name);
  row.target = {isa};
  row.flops = 2.0 * static_cast<double>(values);
  row.prepare = std::move(prepare);
  return row;
}

}  // namespace

void register_elementwise() {
  for (const Isa isa : available_isas()) {
    add_row(row_of(fmt::format("exp2/{}/t1", to_string(isa)), isa, kCount,
                   [isa] { return prepare_exp2(isa); }));
    add_row(row_of(fmt::format("softmax/{}/t1", to_string(isa)), isa,
                   simd::kernel_table(isa).tile_rows * simd::kKeyBlock,
                   [isa] { return prepare_softmax(isa); }));
  }
}

}  // namespace headroom::bench
