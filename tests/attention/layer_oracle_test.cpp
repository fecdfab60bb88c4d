// Every backend, formulation and instruction set against the oracle.
#include <gtest/gtest.h>

#include <functional>

#include "support/golden.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_oracle_test {
namespace {

using reference::Data;

class LayerOracle : public LayerTest {
 protected:
  void expect_agreement(const Layer& layer, Data data = Data::standard) {
    const Matrix y = run(GetParam(), layer);
    const reference::Comparison result = reference::compare(oracle(layer), y.view(), data);
    EXPECT_TRUE(result.passed) << layer.shape.id() << ": " << result.reason;
  }

  /// Runs the shapes that `change` makes of a small base, for 1 to 4 of the widest vectors + 3.
  void expect_agreement_over_sizes(const std::function<void(Case&, std::int64_t)>& change) {
    for (std::int64_t size = 1; size <= 4 * 16 + 3; ++size) {
      Case shape = plain_shape(5, 12, 2, 4);
      change(shape, size);
      expect_agreement(gaussian_layer(shape));
    }
  }
};

TEST_P(LayerOracle, TokensOfEverySmallSize) {
  expect_agreement_over_sizes([](Case& shape, std::int64_t size) { shape.tokens = size; });
}

TEST_P(LayerOracle, InputWidthsOfEverySmallSize) {
  expect_agreement_over_sizes([](Case& shape, std::int64_t size) { shape.d_in = size; });
}

TEST_P(LayerOracle, HeadWidthsOfEverySmallSize) {
  expect_agreement_over_sizes([](Case& shape, std::int64_t size) { shape.d_out = 2 * size; });
}

TEST_P(LayerOracle, ProjectionWidthsOfEverySmallSize) {
  expect_agreement_over_sizes([](Case& shape, std::int64_t size) { shape.d_proj = size; });
}

TEST_P(LayerOracle, HeadWidthsOfRealModelsAndOddOnes) {
  for (const std::int64_t head_dim : {1, 3, 8, 40, 59, 64, 80, 111, 128}) {
    Case shape = plain_shape(35, 48, 3, head_dim);
    shape.d_proj = shape.d_out;
    expect_agreement(gaussian_layer(shape));
  }
}

TEST_P(LayerOracle, NumbersOfHeads) {
  for (const std::int64_t heads : {1, 3, 25, 96}) {
    Case shape = plain_shape(9, 32, heads, 8);
    shape.d_proj = 24;
    expect_agreement(gaussian_layer(shape));
  }
}

// Block lengths in use are multiples or powers near these; masks fail most often at a block's edge.
TEST_P(LayerOracle, TokensAroundTheBlocksOfTheKernels) {
  for (const std::int64_t block : {14, 32, 64, 128, 256}) {
    for (const std::int64_t tokens : {block - 1, block, block + 1}) {
      for (const bool causal : {true, false}) {
        Case shape = plain_shape(tokens, 24, 2, 16);
        shape.causal = causal;
        expect_agreement(gaussian_layer(shape));
      }
    }
  }
}

// Kernels may sum long sequences in parts. Large scores make the parts' maxima differ.
TEST_P(LayerOracle, MoreTokensThanOnePartOfTheKernels) {
  for (const bool causal : {true, false}) {
    Case shape = plain_shape(1100, 24, 2, 8);
    shape.causal = causal;
    Layer layer = gaussian_layer(shape);
    for (float& w : layer.weights.query.values) w *= 2;
    expect_agreement(layer, Data::adversarial);
  }
}

TEST_P(LayerOracle, InputNarrowerAndWiderThanTheHeads) {
  for (const std::int64_t d_in : {7, 200}) {
    for (const std::int64_t d_proj : {0, 5, 150}) {
      Case shape = plain_shape(33, d_in, 4, 20);
      shape.d_proj = d_proj;
      expect_agreement(gaussian_layer(shape));
    }
  }
}

TEST_P(LayerOracle, EveryCombinationOfOptions) {
  for (const bool causal : {true, false}) {
    for (const bool bias : {true, false}) {
      for (const std::int64_t d_proj : {0, 40}) {
        for (const std::int64_t batch : {1, 3}) {
          Case shape = plain_shape(19, 40, 5, 8);
          shape.batch = batch;
          shape.causal = causal;
          shape.qkv_bias = bias;
          shape.d_proj = d_proj;
          expect_agreement(gaussian_layer(shape));
        }
      }
    }
  }
}

TEST_P(LayerOracle, OneToken) {
  for (const std::int64_t batch : {1, 3}) {
    Case shape = plain_shape(1, 64, 12, 64);
    shape.batch = batch;
    shape.d_proj = 768;
    expect_agreement(gaussian_layer(shape));
  }
}

TEST_P(LayerOracle, TwelveHeadsOfSixtyFour) {
  Case shape = plain_shape(40, 768, 12, 64);
  shape.d_proj = 768;
  expect_agreement(gaussian_layer(shape));
}

TEST_P(LayerOracle, LargeLogitsStayWithinTheElementBound) {
  for (const float factor : {3.0F, 8.0F}) {
    for (const bool causal : {true, false}) {
      Case shape = plain_shape(67, 48, 3, 32);
      shape.causal = causal;
      shape.d_proj = 40;
      Layer layer = gaussian_layer(shape);
      for (float& w : layer.weights.query.values) w *= factor;
      for (float& w : layer.weights.key.values) w *= factor;
      expect_agreement(layer, Data::adversarial);
    }
  }
}

// Tokens come in pairs x, -x, so that values cancel in the sum over tokens; only the small
// remainder of each pair is left.
TEST_P(LayerOracle, CancellingValuesStayWithinTheElementBound) {
  Case shape = plain_shape(64, 48, 3, 32);
  shape.d_proj = 40;
  Layer layer = gaussian_layer(shape);
  for (std::int64_t r = 0; r + 1 < shape.tokens; r += 2) {
    for (std::int64_t c = 0; c < shape.d_in; ++c) {
      layer.x.view().row(r + 1)[c] = -layer.x.view().row(r)[c] * 1.0001F;
    }
  }
  for (float& w : layer.weights.query.values) w *= 0.01F;
  expect_agreement(layer, Data::adversarial);
}

TEST_P(LayerOracle, InputsWithALargeCommonOffsetStayWithinTheElementBound) {
  Case shape = plain_shape(33, 48, 2, 32);
  Layer layer = gaussian_layer(shape);
  for (float& v : layer.x.values) v += 100.0F;
  for (float& w : layer.weights.query.values) w *= 0.01F;
  for (float& w : layer.weights.key.values) w *= 0.01F;
  expect_agreement(layer, Data::adversarial);
}

// The oracle takes the pattern from the generator itself, so this also shows that the pattern is
// the same for every backend, formulation and instruction set.
TEST_P(LayerOracle, DropoutFollowsThePattern) {
  for (const double probability : {0.1, 0.5}) {
    for (const bool causal : {true, false}) {
      Case shape = plain_shape(37, 32, 3, 16);
      shape.batch = 2;
      shape.causal = causal;
      shape.d_proj = 24;
      shape.dropout = probability;
      shape.dropout_seed = 0x123456789ABCDEFULL;
      expect_agreement(gaussian_layer(shape));
    }
  }
}

TEST_P(LayerOracle, DropoutOfZeroIsNoDropoutToTheBit) {
  Case shape = plain_shape(37, 32, 3, 16);
  const Matrix without = run(GetParam(), gaussian_layer(shape));
  shape.dropout_seed = 99;
  EXPECT_TRUE(same_bits(run(GetParam(), gaussian_layer(shape)), without));
  shape.dropout = 0.25;
  EXPECT_FALSE(same_bits(run(GetParam(), gaussian_layer(shape)), without));
}

TEST_P(LayerOracle, TextbookExamplesGiveWhatPyTorchGave) {
  for (const GoldenLayer& golden : golden_layers()) {
    const Layer layer{golden.shape, golden.weights, golden.x};
    EXPECT_TRUE(agree(run(GetParam(), layer), golden.y)) << golden.name;
    expect_agreement(layer);
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerOracle, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::layer_oracle_test
