// The oracle over keys and values as a cache of q8 rounds them, against the definition.
#include "core/element/cache_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "headroom/initialise.hpp"
#include "reference/oracle.hpp"

namespace headroom::reference::cache_bytes_test {
namespace {

constexpr std::int64_t kBlock = 64;

Case shape_of(std::int64_t past, std::int64_t window) {
  Case shape;
  shape.tokens = 9;
  shape.past = past;
  shape.window = window;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.d_out = 2 * 6;
  return shape;
}

// Column by column, in blocks of rows.
Matrix rounded_keys(Matrix keys) {
  for (std::int64_t row = 0; row + kBlock <= keys.rows; row += kBlock) {
    for (std::int64_t c = 0; c < keys.cols; ++c) {
      round_by_bytes(keys.view().row(row) + c, kBlock, keys.cols);
    }
  }
  return keys;
}

TEST(OracleOfCacheBytes, FollowsTheDefinition) {
  for (const Case& shape : {shape_of(60, 0), shape_of(200, 0), shape_of(200, 90), shape_of(0, 0)}) {
    SCOPED_TRACE(shape.id());
    const Matrix q = uniform_matrices(shape.tokens, 12, 1, 1).front();
    const Matrix k = uniform_matrices(shape.context(), 6, 1, 2).front();
    Matrix v = uniform_matrices(shape.context(), 6, 1, 3).front();
    Inputs inputs{.x = q.view(), .key = k.view(), .value = std::as_const(v).view()};
    inputs.rounds_cache = true;
    const Expected found = attention(shape, {}, inputs, all_rows(shape), 2);
    const Matrix rounded = rounded_keys(k);
    Matrix values = v;
    for (std::int64_t row = 0; row < values.rows; ++row) {
      round_by_bytes(values.view().row(row), 6);
    }
    for (std::int64_t row = 0; row < shape.tokens; ++row) {
      const std::int64_t position = shape.past + row;
      const std::int64_t first =
          shape.window > 0 ? std::max<std::int64_t>(0, position + 1 - shape.window) : 0;
      for (std::int64_t column = 0; column < 12; ++column) {
        const std::int64_t head = column / 6;
        double sum = 0, weighted = 0;
        for (std::int64_t j = first; j <= position; ++j) {
          const Matrix& seen = j / kBlock < position / kBlock ? rounded : k;
          double score = 0;
          for (std::int64_t c = 0; c < 6; ++c) {
            score += static_cast<double>(q.view().row(row)[head * 6 + c]) *
                     static_cast<double>(seen.view().row(j)[c]);
          }
          const double weight = std::exp(score / std::sqrt(6.0));
          sum += weight;
          weighted += weight * static_cast<double>(values.view().row(j)[column % 6]);
        }
        const auto at = static_cast<std::size_t>(row * 12 + column);
        EXPECT_NEAR(found.y[at], weighted / sum, 1e-13);
        EXPECT_LT(found.bound[at], 1e-5) << "what is given is rounded alike, and nothing is added";
      }
    }
  }
}

// Keys and values of a layer may be rounded to the next step where float differs from double.
TEST(OracleOfCacheBytes, OfALayerAllowsMovesBetweenSteps) {
  Case shape;
  shape.tokens = 130;
  shape.d_in = 64;
  shape.d_out = 48;
  shape.heads = 2;
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape.tokens, shape, 2);
  Inputs inputs{.x = x.view()};
  const Expected plain = attention(shape, weights, inputs, all_rows(shape), 2);
  inputs.rounds_cache = true;
  const Expected rounded = attention(shape, weights, inputs, all_rows(shape), 2);
  int wider = 0;
  double most = 0;
  for (std::size_t i = 0; i < plain.bound.size(); ++i) {
    EXPECT_GE(rounded.bound[i], 0.5 * plain.bound[i]);
    wider += rounded.bound[i] > 2 * plain.bound[i] ? 1 : 0;
    most = std::max(most, rounded.bound[i]);
  }
  EXPECT_GT(wider, 0);
  EXPECT_LT(wider, static_cast<int>(plain.bound.size() / 2)) << "most numbers lie between no steps";
  EXPECT_LT(most, 0.2);
}

}  // namespace
}  // namespace headroom::reference::cache_bytes_test
