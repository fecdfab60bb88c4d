// The oracle's values on the way to y: PyTorch's, and what holds for any layer.
#include "reference/intermediates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/initialise.hpp"
#include "reference/oracle.hpp"
#include "support/golden.hpp"

namespace headroom::reference::intermediates_test {
namespace {

void expect_near(const std::vector<double>& found, const Matrix& expected, const char* what) {
  ASSERT_EQ(found.size(), expected.values.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], static_cast<double>(expected.values[i]), 1e-6) << what << " " << i;
  }
}

TEST(Intermediates, AreThoseOfPyTorch) {
  for (const test::GoldenLayer& layer : test::golden_layers()) {
    if (layer.name != "split_journey" && layer.name != "split_six_bias" &&
        layer.name != "heads_by_hand") {
      continue;
    }
    const Intermediates all = intermediates(layer.shape, layer.weights, layer.x.view());
    expect_near(all.weights, test::golden_matrix(layer.name, "weights"), "weights");
    if (layer.name != "heads_by_hand") {
      expect_near(all.context, test::golden_matrix(layer.name, "context"), "context");
    }
  }
}

Case two_heads() {
  Case shape;
  shape.batch = 2;
  shape.tokens = 7;
  shape.d_in = 5;
  shape.d_out = 6;
  shape.heads = 2;
  shape.d_proj = 4;
  return shape;
}

TEST(Intermediates, EndWithTheOraclesResult) {
  Case shape = two_heads();
  shape.kv_heads = 1;
  shape.window = 3;
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape.rows(), shape, 2);
  const Intermediates all = intermediates(shape, weights, x.view());
  EXPECT_EQ(all.y, attention(shape, weights, x.view(), all_rows(shape), 1).y);
  EXPECT_EQ(all.key.size(), static_cast<std::size_t>(shape.rows() * shape.kv_width()));
  // The merged heads times W_out, plus b_out.
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    for (std::int64_t c = 0; c < shape.d_proj; ++c) {
      double sum = static_cast<double>(weights.output_bias[static_cast<std::size_t>(c)]);
      for (std::int64_t k = 0; k < shape.d_out; ++k) {
        sum += all.context[static_cast<std::size_t>(row * shape.d_out + k)] *
               static_cast<double>(weights.output.view().row(k)[c]);
      }
      EXPECT_NEAR(all.y[static_cast<std::size_t>(row * shape.d_proj + c)], sum, 1e-12);
    }
  }
}

// A row's weights sum to 1 over the keys that it sees, whose scores alone are finite.
TEST(Intermediates, MaskedPairsHaveNoScoreAndNoWeight) {
  Case shape = two_heads();
  shape.window = 3;
  const Intermediates all = intermediates(shape, gaussian_weights(shape, 1),
                                          gaussian_input(shape.rows(), shape, 2).view());
  const std::int64_t tokens = shape.tokens;
  for (std::int64_t line = 0; line < shape.batch * shape.heads * tokens; ++line) {
    double sum = 0;
    for (std::int64_t j = 0; j < tokens; ++j) {
      const std::int64_t i = line % tokens;
      const bool seen = j <= i && j > i - shape.window;
      const auto at = static_cast<std::size_t>(line * tokens + j);
      EXPECT_EQ(std::isfinite(all.scores[at]), seen) << line << " " << j;
      EXPECT_EQ(all.weights[at] > 0, seen) << line << " " << j;
      sum += all.weights[at];
    }
    EXPECT_NEAR(sum, 1, 1e-14);
  }
}

TEST(Intermediates, DropoutIsAppliedToTheWeights) {
  Case shape = two_heads();
  const SplitWeights weights = gaussian_weights(shape, 1);
  const Matrix x = gaussian_input(shape.rows(), shape, 2);
  const Intermediates whole = intermediates(shape, weights, x.view());
  EXPECT_EQ(whole.weights, whole.dropped);
  shape.dropout = 0.5;
  const Intermediates dropped = intermediates(shape, weights, x.view());
  EXPECT_EQ(whole.weights, dropped.weights);
  int kept = 0;
  int lost = 0;
  for (std::size_t i = 0; i < dropped.dropped.size(); ++i) {
    if (dropped.weights[i] == 0) continue;
    (dropped.dropped[i] == 0 ? lost : kept) += 1;
    EXPECT_TRUE(dropped.dropped[i] == 0 || dropped.dropped[i] == 2 * dropped.weights[i]);
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(lost, 0);
}

TEST(Intermediates, OfACallWithAPastAreRefused) {
  Case shape = two_heads();
  shape.past = 1;
  EXPECT_THROW(intermediates(shape, gaussian_weights(shape, 1),
                             gaussian_input(shape.rows(), shape, 2).view()),
               InvalidArgument);
}

}  // namespace
}  // namespace headroom::reference::intermediates_test
