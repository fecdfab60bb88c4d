#include "attention/expected_bytes.hpp"

#include <algorithm>

#include "core/side_by_side.hpp"

namespace headroom {
namespace {

// Backends pad widths to whole vectors, of 16 floats at most, and numbers of keys to pairs of
// vectors.
constexpr double kLanes = 16;
// A thread works on blocks of about this many rows at a time.
constexpr double kBlockRows = 256;

/// How a backend multiplies.
struct Multiplying {
  double weight_floats = 1;  ///< that a packed weight takes
  double block_cols = 1024;  ///< of a block of a thread
  int threads = 1;
  bool packs_heads_together = false;  ///< as the backend's facts say
};

Multiplying multiplying(const Arithmetic& does, int threads) {
  constexpr double kBlockColsOfTiles = 4096;
  Multiplying by;
  by.weight_floats = does.weight_bytes / sizeof(float);
  if (does.unit != Unit::none) by.block_cols = kBlockColsOfTiles;
  by.threads = threads;
  return by;
}

// Packed weights, their bias, and for each thread a block of inputs and one of results.
double product_floats(double rows, double depth, double width, const Multiplying& by) {
  const double block = std::min(rows + kLanes, kBlockRows) *
                       (std::min(depth, by.block_cols) + std::min(width, by.block_cols) + kLanes);
  return by.weight_floats * (depth + 2) * (width + kLanes) + by.threads * block;
}

// Keys and values packed again, and for each thread a head of them and a block of queries, results
// and scores.
double attend_floats(const Case& shape, int threads) {
  const auto rows = static_cast<double>(shape.tokens);
  const bool cross = shape.d_memory > 0;
  const auto keys = static_cast<double>(cross ? shape.memory_tokens : shape.tokens) + 2 * kLanes;
  const double head = static_cast<double>(shape.head_dim()) + kLanes;
  const double value = static_cast<double>(shape.head_value_dim()) + kLanes;
  const double pairs = static_cast<double>(shape.batch) * static_cast<double>(shape.key_heads());
  const double block =
      std::min(rows + kLanes, kBlockRows) * (head + 2 * value + std::max(keys, 256.0));
  return (pairs + threads) * keys * (head + value) + threads * block;
}

double products_floats(const std::vector<PlannedProduct>& products, std::int64_t rows,
                       std::int64_t depth, const Multiplying& by) {
  double floats = 0;
  const auto add = [&](std::int64_t width) {
    floats += product_floats(static_cast<double>(rows), static_cast<double>(depth),
                             static_cast<double>(width), by);
  };
  for (const PlannedProduct& product : products) {
    if (product.spec.per_head && !by.packs_heads_together) {
      for (const ConstAnyMatrix& matrix : product.spec.weights) add(matrix.cols);
    } else {
      add(total_cols(product.spec.weights));
    }
  }
  return floats;
}

// In both orders: what makes latents of x, then queries, keys and values of them, and once more
// what absorbs keys and values, head by head.
double latent_floats(const Case& shape, const Multiplying& by) {
  if (!shape.is_latent()) return 0;
  const auto product = [&](std::int64_t depth, std::int64_t width) {
    return product_floats(static_cast<double>(shape.rows()), static_cast<double>(depth),
                          static_cast<double>(width), by);
  };
  const auto heads = static_cast<double>(shape.heads);
  return product(shape.d_in, shape.latent.query_rank + shape.latent_width()) +
         product(shape.query_depth(), shape.d_out) +
         product(shape.latent.rank, shape.own_key_width() + shape.value_width()) +
         heads * (product(shape.own_key_dim(), shape.latent.rank) +
                  product(shape.latent.rank, shape.head_value_dim())) +
         kBlockRows * heads * static_cast<double>(3 * shape.latent_width());
}

constexpr double kMost = 0x1p60;  // the product of a valid shape's sizes may be more

}  // namespace

std::int64_t expected_bytes(const Case& shape, const PlannedProducts& products,
                            const BackendFacts& facts, const Arithmetic& does, int threads) {
  Multiplying by = multiplying(does, threads);
  by.packs_heads_together = facts.packs_heads_together;
  const auto rows = static_cast<double>(shape.rows());
  const auto d_in = static_cast<double>(shape.d_in);
  const auto context = static_cast<double>(shape.context_width());
  const auto d_proj = static_cast<double>(shape.d_proj);
  double floats = attend_floats(shape, threads);
  floats += products_floats(products.of_x, shape.rows(), shape.d_in, by);
  floats += products_floats(products.of_memory, shape.memory_rows(), shape.d_memory, by);
  floats += latent_floats(shape, by);
  if (shape.d_proj > 0) floats += product_floats(rows, context, d_proj, by);
  if (shape.gate) floats += product_floats(rows, d_in, context, by) + rows * context;
  // Query, key, value and context, and as much again for dense copies of inputs and results.
  const double widths = static_cast<double>(shape.d_out) + context;
  floats += rows * (2 * d_in + 4 * widths + 2 * d_proj);
  floats += static_cast<double>(shape.memory_rows()) *
            static_cast<double>(shape.d_memory + 2 * (shape.kv_width() + shape.value_width()));
  const double more = facts.attend_bytes != nullptr ? facts.attend_bytes(shape) : 0;
  return static_cast<std::int64_t>(std::min(floats * sizeof(float) + more, kMost));
}

std::int64_t expected_cache_bytes(const Case& shape, std::int64_t sequences,
                                  std::int64_t capacity) {
  const double head = static_cast<double>(shape.head_dim()) + kLanes;
  const double tokens =
      static_cast<double>(sequences) * (static_cast<double>(capacity) + 2 * kLanes);
  const double value = static_cast<double>(shape.head_value_dim()) + kLanes;
  const double floats = 1.0625 * tokens * static_cast<double>(shape.key_heads()) * (head + value);
  return static_cast<std::int64_t>(std::min(floats * sizeof(float), kMost));
}

}  // namespace headroom
