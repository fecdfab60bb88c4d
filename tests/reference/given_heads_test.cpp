// The oracle over queries, keys and values that are given: against the definition, and against a
// layer whose weights change nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/initialise.hpp"
#include "reference/oracle.hpp"

namespace headroom::reference::given_heads_test {
namespace {

struct Heads {
  Case shape;
  Matrix q, k, v;

  Inputs inputs() const { return {.x = q.view(), .key = k.view(), .value = v.view()}; }
};

Heads draw(std::int64_t kv_heads, std::int64_t past, bool causal, std::int64_t window) {
  Heads heads;
  heads.shape.batch = 2;
  heads.shape.tokens = 4;
  heads.shape.d_out = 6 * 5;
  heads.shape.heads = 6;
  heads.shape.kv_heads = kv_heads;
  heads.shape.past = past;
  heads.shape.causal = causal;
  heads.shape.window = window;
  const std::int64_t keys = heads.shape.batch * heads.shape.context();
  heads.q = uniform_matrices(heads.shape.rows(), heads.shape.d_out, 1, 1).front();
  heads.k = uniform_matrices(keys, heads.shape.kv_width(), 1, 2).front();
  heads.v = uniform_matrices(keys, heads.shape.kv_width(), 1, 3).front();
  return heads;
}

// One value of the output, by the definition.
double expected(const Heads& heads, std::int64_t sequence, std::int64_t token,
                std::int64_t column) {
  const Case& shape = heads.shape;
  const std::int64_t width = shape.head_dim();
  const std::int64_t head = column / width;
  const std::int64_t of_keys = head / (shape.heads / shape.key_heads()) * width;
  const float* q = heads.q.view().row(sequence * shape.tokens + token) + head * width;
  double sum = 0;
  double weighted = 0;
  for (std::int64_t j = 0; j < shape.context(); ++j) {
    const std::int64_t position = shape.past + token;
    if (shape.causal && j > position) continue;
    if (shape.window > 0 && j <= position - shape.window) continue;
    const float* k = heads.k.view().row(sequence * shape.context() + j) + of_keys;
    double score = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      score += static_cast<double>(q[c]) * static_cast<double>(k[c]);
    }
    const double weight = std::exp(score / std::sqrt(static_cast<double>(width)));
    const float* v = heads.v.view().row(sequence * shape.context() + j) + of_keys;
    sum += weight;
    weighted += weight * static_cast<double>(v[column % width]);
  }
  return weighted / sum;
}

TEST(GivenHeads, FollowTheDefinition) {
  for (const std::int64_t kv_heads : {0, 1, 3}) {
    for (const std::int64_t past : {0, 7}) {
      for (const std::int64_t window : {0, 3}) {
        const Heads heads = draw(kv_heads, past, true, window);
        SCOPED_TRACE(heads.shape.id());
        const Expected found = attention(heads.shape, {}, heads.inputs(), all_rows(heads.shape), 2);
        ASSERT_EQ(found.width, heads.shape.d_out);
        for (std::int64_t row = 0; row < heads.shape.rows(); ++row) {
          for (std::int64_t c = 0; c < found.width; ++c) {
            const auto at = static_cast<std::size_t>(row * found.width + c);
            EXPECT_NEAR(found.y[at], expected(heads, row / 4, row % 4, c), 1e-14);
            EXPECT_GT(found.bound[at], 0);
          }
        }
      }
    }
  }
}

// Their bound has no errors of products in it, so it is below that of such a layer.
TEST(GivenHeads, AreALayerWhoseWeightsChangeNothing) {
  Heads heads = draw(0, 0, false, 0);
  heads.k = heads.v = heads.q;
  Case shape = heads.shape;
  shape.d_in = shape.d_out;
  SplitWeights same;
  same.query = Matrix(shape.d_in, shape.d_out);
  for (std::int64_t i = 0; i < shape.d_in; ++i) same.query.view().row(i)[i] = 1;
  same.key = same.value = same.query;
  const std::vector<std::int64_t> rows{1, 2, 7};
  Expected layer = attention(shape, same, {.x = heads.q.view()}, rows, 1);
  Expected found = attention(heads.shape, {}, heads.inputs(), rows, 1);
  EXPECT_EQ(found.y, layer.y);
  add_coarse_bound(shape, same, {.x = heads.q.view()}, Precision::bf16, 1, layer);
  add_coarse_bound(heads.shape, {}, heads.inputs(), Precision::bf16, 1, found);
  for (std::size_t i = 0; i < found.y.size(); ++i) {
    EXPECT_LT(found.bound[i], layer.bound[i]);
    EXPECT_GT(found.bound[i], 0.1 * layer.bound[i]);
    const double coarse = found.coarse_bounds.at(Precision::bf16)[i];
    EXPECT_LT(coarse, layer.coarse_bounds.at(Precision::bf16)[i]);
    EXPECT_GT(coarse, found.bound[i]);
  }
}

TEST(GivenHeads, OfOtherSizesAreRefused) {
  Heads heads = draw(3, 7, true, 0);
  const auto refused = [&](const Inputs& inputs, const char* named) {
    try {
      attention(heads.shape, {}, inputs, all_rows(heads.shape), 1);
      ADD_FAILURE() << "taken";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
    }
  };
  Inputs inputs = heads.inputs();
  inputs.key.rows -= 1;
  refused(inputs, "key is 21 x 15");
  inputs = heads.inputs();
  inputs.value.cols -= 1;
  refused(inputs, "value is 22 x 14");
  refused({.x = heads.k.view()}, "x is 22 x 15");
}

}  // namespace
}  // namespace headroom::reference::given_heads_test
