#include "attention/expected_bytes.hpp"

#include <algorithm>

namespace headroom {
namespace {

// Backends pad widths to whole vectors, of 16 floats at most, and numbers of keys to pairs of
// vectors.
constexpr double kLanes = 16;
// A thread works on blocks of about this many rows, and of 1024 columns, at a time.
constexpr double kBlockRows = 256;
constexpr double kBlockCols = 1024;

// Packed weights, their bias, and for each thread a block of inputs and one of results.
double product_floats(double rows, double depth, double width, int threads) {
  const double block = std::min(rows + kLanes, kBlockRows) *
                       (std::min(depth, kBlockCols) + std::min(width, kBlockCols) + kLanes);
  return (depth + 2) * (width + kLanes) + threads * block;
}

// Keys and values packed again, and for each thread a block of queries, results and scores.
double attend_floats(const Shape& shape, int threads) {
  const auto tokens = static_cast<double>(shape.tokens);
  const double head = static_cast<double>(shape.head_dim()) + kLanes;
  const double pairs = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double block = std::min(tokens + kLanes, kBlockRows) * (2 * head + std::max(tokens, 256.0));
  return 2 * pairs * (tokens + 2 * kLanes) * head + threads * block;
}

}  // namespace

std::int64_t expected_bytes(const Shape& shape, const std::vector<PlannedProduct>& products,
                            const BackendFacts& facts, int threads) {
  const auto rows = static_cast<double>(shape.rows());
  const auto d_in = static_cast<double>(shape.d_in);
  const auto d_out = static_cast<double>(shape.d_out);
  const auto d_proj = static_cast<double>(shape.d_proj);
  double floats = attend_floats(shape, threads);
  for (const PlannedProduct& product : products) {
    double width = 0;
    for (const ConstMatrixView& part : product.spec.weights)
      width += static_cast<double>(part.cols);
    floats += product_floats(rows, d_in, width, threads);
  }
  if (shape.d_proj > 0) floats += product_floats(rows, d_out, d_proj, threads);
  // Query, key, value and context, and as much again for dense copies of inputs and results.
  floats += rows * (d_in + 8 * d_out + d_proj);
  const double more = facts.attend_bytes != nullptr ? facts.attend_bytes(shape) : 0;
  constexpr double kMost = 0x1p60;  // the product of a valid shape's sizes may be more
  return static_cast<std::int64_t>(std::min(floats * sizeof(float) + more, kMost));
}

}  // namespace headroom
