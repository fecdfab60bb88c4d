// Invalid views are refused before y is touched; unusual but valid memory works.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "core/case_layer.hpp"
#include "support/guarded_buffer.hpp"
#include "support/layer_cases.hpp"
#include "support/refusals.hpp"

namespace headroom::test::layer_faults_test {
namespace {

constexpr float kCanary = -12345.0F;

Case small_shape() {
  Case shape = plain_shape(19, 24, 3, 8);
  shape.d_proj = 20;
  return shape;
}

class LayerFaults : public LayerTest {
 protected:
  /// Expects `forward` to refuse the views with a message that contains `word`, and y to be
  /// untouched.
  void expect_refusal(const std::string& word,
                      const std::function<void(ConstMatrixView&, MatrixView&)>& spoil) {
    const Layer layer = gaussian_layer(small_shape());
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
    // Extra space, so that a view that is too large still points to its own memory.
    Matrix y(2 * layer.shape.rows(), 3 * layer.shape.output_width());
    std::fill(y.values.begin(), y.values.end(), kCanary);
    ConstMatrixView x = layer.x.view();
    MatrixView out{y.values.data(), layer.shape.rows(), layer.shape.output_width(),
                   layer.shape.output_width()};
    spoil(x, out);
    expect_refused(word, [&] { attention.forward(x, out); });
    EXPECT_TRUE(
        std::all_of(y.values.begin(), y.values.end(), [](float v) { return v == kCanary; }));
  }

  /// Runs the layer with x and y copied to where the views say.
  void expect_same_as_plain(const Layer& layer, MatrixView x, MatrixView y) {
    for (std::int64_t r = 0; r < x.rows; ++r) {
      std::copy_n(layer.x.view().row(r), x.cols, x.row(r));
    }
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
    attention.forward(x, y);
    EXPECT_TRUE(equal_for(GetParam(), y, run(GetParam(), layer).view()));
  }
};

TEST_P(LayerFaults, NullPointersAreNamed) {
  expect_refusal(": x ", [](ConstMatrixView& x, MatrixView&) { x.data = nullptr; });
  expect_refusal(": y ", [](ConstMatrixView&, MatrixView& y) { y.data = nullptr; });
  expect_refusal("null", [](ConstMatrixView&, MatrixView& y) { y.data = nullptr; });
}

TEST_P(LayerFaults, StridesBelowTheWidthAreNamed) {
  expect_refusal(": x ", [](ConstMatrixView& x, MatrixView&) { x.row_stride = x.cols - 1; });
  expect_refusal(": y ", [](ConstMatrixView&, MatrixView& y) { y.row_stride = y.cols - 1; });
  expect_refusal("stride", [](ConstMatrixView& x, MatrixView&) { x.row_stride = 0; });
  expect_refusal("stride", [](ConstMatrixView&, MatrixView& y) { y.row_stride = -y.cols; });
}

// Their products with rows or with the size of a float overflow to plausible values.
TEST_P(LayerFaults, StridesBeyondAnyMemoryAreNamed) {
  const std::int64_t two_to_61 = std::int64_t{1} << 61;
  for (const std::int64_t stride :
       {two_to_61 / 32, two_to_61 - 1, two_to_61, two_to_61 + 24, 2 * two_to_61,
        2 * two_to_61 + two_to_61, std::numeric_limits<std::int64_t>::max()}) {
    expect_refusal(": x has row stride " + std::to_string(stride),
                   [&](ConstMatrixView& x, MatrixView&) { x.row_stride = stride; });
    expect_refusal(": y has row stride " + std::to_string(stride),
                   [&](ConstMatrixView&, MatrixView& y) { y.row_stride = stride; });
  }
}

TEST_P(LayerFaults, WrongSizesAreNamed) {
  expect_refusal("19", [](ConstMatrixView& x, MatrixView&) { x.rows -= 1; });
  expect_refusal("24", [](ConstMatrixView& x, MatrixView&) { x.cols -= 1; });
  expect_refusal("19", [](ConstMatrixView&, MatrixView& y) { y.rows += 1; });
  expect_refusal("20", [](ConstMatrixView&, MatrixView& y) {
    y.cols += 1;
    y.row_stride += 1;
  });
}

TEST_P(LayerFaults, OverlapIsNamed) {
  const auto at = [](std::int64_t offset) {
    return [offset](ConstMatrixView& x, MatrixView& y) { x.data = y.data + offset; };
  };
  const Case shape = small_shape();
  expect_refusal("overlap", at(0));
  expect_refusal("overlap", at(shape.rows() * shape.output_width() - 1));
  // x starts before y and reaches into its first element.
  expect_refusal("overlap", [&](ConstMatrixView& x, MatrixView& y) {
    x.data = y.data;
    y.data += shape.rows() * shape.d_in - 1;
  });
}

TEST_P(LayerFaults, NeighboursThatTouchButDoNotOverlapAreFine) {
  const Layer layer = gaussian_layer(small_shape());
  const std::int64_t inputs = layer.shape.rows() * layer.shape.d_in;
  Matrix both(1, inputs + layer.shape.rows() * layer.shape.output_width());
  float* first = both.values.data();
  expect_same_as_plain(
      layer, {first, layer.shape.rows(), layer.shape.d_in, layer.shape.d_in},
      {first + inputs, layer.shape.rows(), layer.shape.output_width(), layer.shape.output_width()});
}

TEST_P(LayerFaults, ColumnsOfTheSameRowsAreFine) {
  const Layer layer = gaussian_layer(small_shape());
  const std::int64_t rows = layer.shape.rows();
  const std::int64_t d_in = layer.shape.d_in;
  const std::int64_t width = layer.shape.output_width();
  const std::int64_t stride = d_in + width;
  Matrix both(rows + 1, stride);
  float* first = both.values.data();
  const auto x_at = [&](float* data) { return MatrixView{data, rows, d_in, stride}; };
  const auto y_at = [&](float* data) { return MatrixView{data, rows, width, stride}; };
  expect_same_as_plain(layer, x_at(first), y_at(first + d_in));
  expect_same_as_plain(layer, x_at(first + width), y_at(first));
  // y begins in row 1 of x.
  expect_same_as_plain(layer, x_at(first + width), y_at(first + stride));
}

TEST_P(LayerFaults, ColumnsThatMeetInAnyRowAreNamed) {
  const Case shape = small_shape();
  const std::int64_t stride = shape.d_in + shape.output_width();
  const auto columns = [&](std::int64_t y_offset, std::int64_t y_stride) {
    return [=](ConstMatrixView& x, MatrixView& y) {
      x.row_stride = stride;
      x.data = y.data;
      y.data += y_offset;
      y.row_stride = y_stride;
    };
  };
  expect_refusal("overlap", columns(shape.d_in - 1, stride));
  expect_refusal("overlap", columns(shape.d_in + 1, stride));  // its end meets the next row of x
  // The last row of x and the first of y, by one value.
  expect_refusal("overlap", columns((shape.rows() - 1) * stride + shape.d_in - 1, stride));
  // Rows with different strides overlap sooner or later.
  expect_refusal("overlap", columns(shape.d_in, stride + 1));
}

TEST_P(LayerFaults, UnalignedViewsGiveTheSame) {
  const Layer layer = gaussian_layer(small_shape());
  for (std::int64_t offset = 1; offset < 16; offset += 3) {
    Matrix x(1, layer.shape.rows() * layer.shape.d_in + offset);
    Matrix y(1, layer.shape.rows() * layer.shape.output_width() + 16 - offset);
    expect_same_as_plain(
        layer, {x.values.data() + offset, layer.shape.rows(), layer.shape.d_in, layer.shape.d_in},
        {y.values.data() + 16 - offset, layer.shape.rows(), layer.shape.output_width(),
         layer.shape.output_width()});
  }
}

TEST_P(LayerFaults, PaddingIsNeitherReadNorWritten) {
  for (const std::int64_t d_proj : {0, 20}) {
    Case shape = small_shape();
    shape.d_proj = d_proj;
    const Layer layer = gaussian_layer(shape);
    const std::int64_t x_stride = shape.d_in + 5;
    const std::int64_t y_stride = shape.output_width() + 19;
    Matrix x(shape.rows(), x_stride);
    Matrix y(shape.rows(), y_stride);
    std::fill(x.values.begin(), x.values.end(), std::numeric_limits<float>::quiet_NaN());
    std::fill(y.values.begin(), y.values.end(), kCanary);
    expect_same_as_plain(layer, {x.values.data(), shape.rows(), shape.d_in, x_stride},
                         {y.values.data(), shape.rows(), shape.output_width(), y_stride});
    for (std::int64_t r = 0; r < shape.rows(); ++r) {
      for (std::int64_t c = shape.output_width(); c < y_stride; ++c) {
        ASSERT_EQ(y.view().row(r)[c], kCanary) << "row " << r << ", column " << c;
      }
    }
  }
}

TEST_P(LayerFaults, NothingIsTouchedOutsideOfTheViews) {
  using Side = GuardedBuffer::Side;
  for (const Side side : {Side::at_start, Side::at_end}) {
    for (const std::int64_t d_in : {1, 24, 37}) {
      Case shape = small_shape();
      shape.d_in = d_in;
      shape.d_proj = d_in == 24 ? 0 : d_in;
      const Layer layer = gaussian_layer(shape);
      const GuardedBuffer x(shape.rows() * shape.d_in, side);
      const GuardedBuffer y(shape.rows() * shape.output_width(), side);
      expect_same_as_plain(layer, {x.data(), shape.rows(), shape.d_in, shape.d_in},
                           {y.data(), shape.rows(), shape.output_width(), shape.output_width()});
    }
  }
}

TEST_P(LayerFaults, NoTokensAndNoBatchAreNoWork) {
  for (const bool no_tokens : {true, false}) {
    Case shape = small_shape();
    (no_tokens ? shape.tokens : shape.batch) = 0;
    Attention attention = layer_for(shape, gaussian_weights(shape, 7), GetParam().options());
    Matrix nothing(0, shape.d_in);
    float canary = kCanary;
    const MatrixView y{&canary, 0, shape.output_width(), shape.output_width()};
    EXPECT_NO_THROW(attention.forward(nothing.view(), y));
    EXPECT_EQ(canary, kCanary);
    const ConstMatrixView no_x{nullptr, 0, shape.d_in, shape.d_in};
    const MatrixView no_y{nullptr, 0, shape.output_width(), shape.output_width()};
    EXPECT_NO_THROW(attention.forward(no_x, no_y));
  }
}

TEST_P(LayerFaults, MoreThreadsThanAnyMachineHasAreRefused) {
  const Layer layer = gaussian_layer(small_shape());
  for (const int threads : {-1, kMaxThreads + 1, 1'000'000, std::numeric_limits<int>::max()}) {
    AttentionOptions options = GetParam().options();
    options.threads = threads;
    try {
      Attention attention = layer_for(layer.shape, layer.weights, options);
      FAIL() << threads << " threads were accepted";
    } catch (const InvalidArgument& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("threads is " + std::to_string(threads)), std::string::npos)
          << message;
      EXPECT_NE(message.find(std::to_string(kMaxThreads)), std::string::npos) << message;
    }
  }
}

TEST_P(LayerFaults, InvalidShapesAndWeightsAreRefused) {
  const Layer layer = gaussian_layer(small_shape());
  const auto expect_invalid = [&](const std::function<void(Case&, SplitWeights&)>& spoil) {
    Case shape = layer.shape;
    SplitWeights weights = layer.weights;
    spoil(shape, weights);
    EXPECT_THROW(layer_for(shape, weights, GetParam().options()), InvalidArgument);
  };
  expect_invalid([](Case& shape, SplitWeights&) { shape.heads = 5; });
  expect_invalid([](Case& shape, SplitWeights&) { shape.heads = 0; });
  expect_invalid([](Case& shape, SplitWeights&) { shape.dropout = 1.0; });
  expect_invalid([](Case& shape, SplitWeights&) { shape.dropout = -0.1; });
  expect_invalid(
      [](Case& shape, SplitWeights&) { shape.dropout = std::numeric_limits<double>::quiet_NaN(); });
  expect_invalid([](Case& shape, SplitWeights&) { shape.tokens = std::int64_t{1} << 62; });
  expect_invalid([](Case&, SplitWeights& weights) { weights.key = Matrix(24, 23); });
  expect_invalid([](Case&, SplitWeights& weights) { weights.output = Matrix(20, 24); });
  expect_invalid([](Case&, SplitWeights& weights) { weights.value_bias.resize(3); });
}

TEST_P(LayerFaults, TheOptionsInEffectAndTheCostsAreReported) {
  const Layer layer = gaussian_layer(small_shape());
  const Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  EXPECT_EQ(attention.config(), static_cast<const LayerConfig&>(layer.shape));
  EXPECT_EQ(attention.largest(), static_cast<const CallSizes&>(layer.shape));
  EXPECT_EQ(attention.options().backend, GetParam().backend);
  EXPECT_EQ(attention.options().formulation, GetParam().formulation);
  EXPECT_GE(attention.options().threads, 1);
  if (GetParam().isa) {
    EXPECT_EQ(attention.options().isa, GetParam().isa);
  }
  EXPECT_GT(attention.costs().setup_seconds, 0);
  EXPECT_GT(attention.costs().packed_bytes, 0);
  EXPECT_GT(attention.costs().workspace_bytes, 0);
  EXPECT_FALSE(attention.costs().project_provenance.empty());
  EXPECT_FALSE(attention.costs().attend_provenance.empty());
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerFaults, testing::ValuesIn(layer_cases()), case_name);

TEST(LayerBackends, AnUnknownBackendIsRefusedWithTheNearestName) {
  const Layer layer = gaussian_layer(small_shape());
  AttentionOptions options;
  options.backend = "xsmid";
  try {
    Attention attention = layer_for(layer.shape, layer.weights, options);
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("xsimd"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace headroom::test::layer_faults_test
