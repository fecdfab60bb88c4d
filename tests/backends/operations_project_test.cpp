// `project` of every backend: exact on whole numbers, whatever the sizes, strides and alignment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/operation_cases.hpp"

namespace headroom::test::operations_project_test {
namespace {

constexpr float kUntouched = 12345.0f;

/// One projection with all its data between guard pages, and the strides of its views.
struct Problem {
  std::int64_t rows, depth, block_cols, blocks;
  bool biased = false;
  std::int64_t padding = 0;  ///< floats after each row of x, weights and y
  GuardedBuffer::Side side = GuardedBuffer::Side::at_end;
};

std::string text(const Problem& p) {
  return "rows " + std::to_string(p.rows) + " depth " + std::to_string(p.depth) + " blocks " +
         std::to_string(p.blocks) + " of " + std::to_string(p.block_cols) +
         (p.biased ? " biased" : "");
}

class Data {
 public:
  Data(const Problem& p, HeadLayout layout)
      : problem_(p),
        activations_(layout, p.rows, p.blocks, p.block_cols, p.padding),
        x_((p.rows - 1) * x_stride() + p.depth, p.side),
        weights_((p.depth - 1) * weight_stride() + cols(), p.side),
        bias_(cols(), p.side),
        y_(activations_.size() - p.padding, p.side) {
    fill_integers(x_.values(), 1);
    fill_integers(weights_.values(), 2);
    fill_integers(bias_.values(), 3);
    std::fill(y_.values().begin(), y_.values().end(), kUntouched);
  }

  std::int64_t cols() const { return problem_.blocks * problem_.block_cols; }
  std::int64_t x_stride() const { return problem_.depth + problem_.padding; }
  std::int64_t weight_stride() const { return cols() + problem_.padding; }
  ConstMatrixView x() const { return {x_.data(), problem_.rows, problem_.depth, x_stride()}; }
  BlockedView y() const { return activations_.view(y_.data()); }
  std::span<float> x_values() const { return x_.values(); }
  std::span<float> weight_values() const { return weights_.values(); }
  std::span<float> y_values() const { return y_.values(); }
  float result(std::int64_t row, std::int64_t col) const {
    return y().at(row, col / problem_.block_cols)[col % problem_.block_cols];
  }

  ProjectionSpec spec() const {
    ProductSpec product;
    product.block_cols = problem_.block_cols;
    product.weights = {ConstMatrixView{weights_.data(), problem_.depth, cols(), weight_stride()}};
    if (problem_.biased) product.biases = {ConstMatrixView{bias_.data(), 1, cols(), cols()}};
    return {problem_.rows, {product}};
  }

  /// `x W (+ b)` in double, and the sum of its terms' absolute values.
  std::pair<double, double> expected(std::int64_t row, std::int64_t col) const {
    double sum = problem_.biased ? bias_.data()[col] : 0.0;
    double magnitude = std::fabs(sum);
    for (std::int64_t k = 0; k < problem_.depth; ++k) {
      const double term = static_cast<double>(x_.data()[row * x_stride() + k]) *
                          static_cast<double>(weights_.data()[k * weight_stride() + col]);
      sum += term;
      magnitude += std::fabs(term);
    }
    return {sum, magnitude};
  }

 private:
  Problem problem_;
  Activations activations_;
  GuardedBuffer x_, weights_, bias_, y_;
};

/// All elements are what double precision gives. Whole numbers this small leave no rounding.
testing::AssertionResult exact(const Data& data, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < data.cols(); ++c) {
      const double expected = data.expected(r, c).first;
      if (static_cast<double>(data.result(r, c)) == expected) continue;
      return testing::AssertionFailure() << "row " << r << " column " << c << " is "
                                         << data.result(r, c) << ", expected " << expected;
    }
  }
  return testing::AssertionSuccess();
}

class OperationProject : public OperationTest {
 protected:
  void expect_exact(const Problem& problem) const {
    const Data data(problem, backend_->head_layout());
    backend_->make_projection(data.spec())->run(data.x(), data.y());
    ASSERT_TRUE(exact(data, problem.rows)) << text(problem);
  }
};

const std::vector<std::int64_t> kRows = {1, 2, 3, 5, 13, 14, 15, 16, 29, 57};
const std::vector<std::int64_t> kDepths = {1, 3, 8, 17, 64, 385};
const std::vector<std::int64_t> kWidths = {1, 3, 8, 16, 31, 32, 33, 40, 59, 64, 80, 111, 128};

TEST_P(OperationProject, IsExactForAllWidthsAndBlocks) {
  std::size_t turn = 0;
  for (const std::int64_t width : kWidths) {
    for (const std::int64_t blocks : {1, 2, 3}) {
      for (int pick = 0; pick < 3; ++pick, ++turn) {
        const std::int64_t rows = kRows[turn % kRows.size()];
        const std::int64_t depth = kDepths[turn * 7 % kDepths.size()];
        ASSERT_NO_FATAL_FAILURE(expect_exact({rows, depth, width, blocks, turn % 2 == 0}));
      }
    }
  }
}

TEST_P(OperationProject, IsExactForAllRowsAndDepths) {
  for (const std::int64_t rows : kRows) {
    for (const std::int64_t depth : kDepths) {
      ASSERT_NO_FATAL_FAILURE(expect_exact({rows, depth, 33, 1, depth % 2 == 0}));
    }
  }
}

// Guard pages at either end of every buffer; odd sizes leave pointers unaligned.
TEST_P(OperationProject, TouchesNothingOutsideItsViews) {
  using Side = GuardedBuffer::Side;
  for (const Side side : {Side::at_start, Side::at_end}) {
    for (const std::int64_t width : {1, 15, 33, 64, 111}) {
      for (const std::int64_t rows : {1, 7, 14, 57}) {
        ASSERT_NO_FATAL_FAILURE(expect_exact({rows, 17, width, 2, true, 0, side}));
      }
    }
  }
}

TEST_P(OperationProject, LeavesThePaddingBetweenRowsAlone) {
  for (const std::int64_t width : {3, 32, 59}) {
    for (const std::int64_t blocks : {1, 3}) {
      const Problem problem{15, 19, width, blocks, true, 5};
      const Data data(problem, backend_->head_layout());
      backend_->make_projection(data.spec())->run(data.x(), data.y());
      EXPECT_TRUE(exact(data, problem.rows)) << text(problem);
      const auto values = data.y_values();
      const auto written = problem.rows * data.cols();
      EXPECT_EQ(std::count(values.begin(), values.end(), kUntouched),
                static_cast<std::int64_t>(values.size()) - written)
          << text(problem);
    }
  }
}

// As the fused formulation gives them: several matrices, each with a bias, in one product.
TEST_P(OperationProject, PutsSeveralMatricesSideBySide) {
  const std::int64_t rows = 13, depth = 24, head_dim = 20, heads = 2, width = heads * head_dim;
  std::vector<float> x(static_cast<std::size_t>(rows * depth));
  std::vector<float> weights(static_cast<std::size_t>(3 * depth * width));
  std::vector<float> bias(static_cast<std::size_t>(3 * width));
  fill_integers(x, 4);
  fill_integers(weights, 5);
  fill_integers(bias, 6);
  ProductSpec fused{{}, {}, head_dim};
  const Activations wide(backend_->head_layout(), rows, 3 * heads, head_dim);
  std::vector<float> y(static_cast<std::size_t>(wide.size()));
  for (std::int64_t m = 0; m < 3; ++m) {
    fused.weights.emplace_back(weights.data() + m * depth * width, depth, width, width);
    fused.biases.emplace_back(bias.data() + m * width, 1, width, width);
  }
  backend_->make_projection({rows, {fused}})
      ->run({x.data(), rows, depth, depth}, wide.view(y.data()));
  const Activations narrow(backend_->head_layout(), rows, heads, head_dim);
  for (std::int64_t m = 0; m < 3; ++m) {
    const auto at = static_cast<std::size_t>(m);
    const ProjectionSpec one{rows, {{{fused.weights[at]}, {fused.biases[at]}, head_dim}}};
    std::vector<float> part(static_cast<std::size_t>(narrow.size()));
    backend_->make_projection(one)->run({x.data(), rows, depth, depth}, narrow.view(part.data()));
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const float* left = wide.view(y.data()).at(r, m * heads + h);
        const float* right = narrow.view(part.data()).at(r, h);
        ASSERT_TRUE(std::equal(left, left + head_dim, right))
            << "matrix " << m << " row " << r << " head " << h;
      }
    }
  }
}

// As the wrapper gives them: products of their own over one input, which may be prepared once.
TEST_P(OperationProject, SeveralProductsOfOneInputGiveTheBitsOfEach) {
  const std::int64_t depth = 800;
  for (const std::int64_t rows : {1, 5, 57}) {
    std::vector<float> x(static_cast<std::size_t>(rows * depth));
    fill_gaussian(x, 14);
    const ConstMatrixView input{x.data(), rows, depth, depth};
    ProjectionSpec all{rows, {}};
    std::vector<std::vector<float>> weights, y;
    std::vector<AnyBlockedView> to;
    for (const std::int64_t width : {64, 1, 33, 64, 64, 7, 128}) {
      std::vector<float>& matrix = weights.emplace_back(static_cast<std::size_t>(depth * width));
      fill_gaussian(matrix, static_cast<std::uint32_t>(20 + width));
      all.products.push_back({{{matrix.data(), depth, width, width}}, {}, width});
      const Activations activations(backend_->head_layout(), rows, 1, width);
      to.emplace_back(
          activations.view(y.emplace_back(static_cast<std::size_t>(rows * width)).data()));
    }
    backend_->make_projection(all)->run(input, to);
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::vector<float> alone(y[i].size());
      AnyBlockedView view = to[i];
      view.data = alone.data();
      backend_->make_projection({rows, {all.products[i]}})->run(input, view);
      ASSERT_TRUE(same_bits(y[i], alone)) << rows << " rows, product " << i;
    }
  }
}

// As the wrapper gives them: a matrix per head, also where several query heads share a key head.
TEST_P(OperationProject, PerHead_AnyWidth_EqualsOneMatrix) {
  const std::int64_t depth = 65;
  for (const std::int64_t rows : {1, 5, 57}) {
    for (const std::int64_t width : {1, 3, 8, 16, 20, 33}) {
      std::vector<float> x(static_cast<std::size_t>(rows * depth));
      fill_integers(x, 30);
      ProjectionSpec whole{rows, {}}, per_head{rows, {}};
      std::vector<std::vector<float>> values;
      const auto filled = [&](std::int64_t count) {
        fill_integers(values.emplace_back(static_cast<std::size_t>(count)),
                      static_cast<std::uint32_t>(31 + values.size()));
        return values.back().data();
      };
      const auto place = [&](std::vector<AnyBlockedView>& to, std::int64_t heads) {
        const Activations activations(backend_->head_layout(), rows, heads, width);
        to.emplace_back(activations.view(filled(activations.size())));
      };
      std::vector<AnyBlockedView> expected, y;
      for (const std::int64_t heads : {6, 2, 2}) {
        const std::int64_t cols = heads * width;
        const ConstAnyMatrix weights{filled(depth * cols), depth, cols, cols};
        const ConstAnyMatrix bias{filled(cols), 1, cols, cols};
        whole.products.push_back({{weights}, {bias}, width});
        ProductSpec& of_heads = per_head.products.emplace_back(ProductSpec{{}, {}, width, true});
        for (std::int64_t h = 0; h < heads; ++h) {
          of_heads.weights.push_back(weights.columns(h * width, width));
          of_heads.biases.push_back(bias.columns(h * width, width));
        }
        place(expected, heads);
        place(y, heads);
      }
      const ConstMatrixView input{x.data(), rows, depth, depth};
      backend_->make_projection(whole)->run(input, expected);
      backend_->make_projection(per_head)->run(input, y);
      for (std::size_t i = 0; i < y.size(); ++i) {
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t h = 0; h < y[i].blocks; ++h) {
            const auto row = [&](const AnyBlockedView& of) {
              return std::span(of.floats().at(r, h), static_cast<std::size_t>(width));
            };
            ASSERT_TRUE(same_bits(row(y[i]), row(expected[i])))
                << "width " << width << " product " << i << " row " << r << " head " << h;
          }
        }
      }
    }
  }
}

// Each product and each addition rounds once, so n terms are within n + 1 half units of the sum of
// their absolute values, in whatever order they are added.
TEST_P(OperationProject, RoundsNoMoreThanItMust) {
  for (const std::int64_t depth : {64, 385, 1030}) {
    const Problem problem{29, depth, 40, 2};
    const Data data(problem, backend_->head_layout());
    fill_gaussian(data.x_values(), 7);
    fill_gaussian(data.weight_values(), 8);
    backend_->make_projection(data.spec())->run(data.x(), data.y());
    const double limit = static_cast<double>(depth + 1) * 0x1p-24;
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      for (std::int64_t c = 0; c < data.cols(); ++c) {
        const auto [value, magnitude] = data.expected(r, c);
        ASSERT_NEAR(static_cast<double>(data.result(r, c)), value, limit * magnitude)
            << text(problem) << " row " << r << " column " << c;
      }
    }
  }
}

TEST_P(OperationProject, RepeatsToTheBit) {
  const Problem problem{57, 385, 59, 3, true};
  const Data data(problem, backend_->head_layout());
  fill_gaussian(data.x_values(), 9);
  fill_gaussian(data.weight_values(), 10);
  const auto projection = backend_->make_projection(data.spec());
  projection->run(data.x(), data.y());
  const std::vector<float> first(data.y_values().begin(), data.y_values().end());
  for (int repeat = 0; repeat < 5; ++repeat) {
    projection->run(data.x(), data.y());
    ASSERT_TRUE(same_bits(data.y_values(), first));
  }
}

TEST_P(OperationProject, KeepsNanInItsRowAndItsColumn) {
  const Problem problem{29, 33, 40, 2, true};
  Data data(problem, backend_->head_layout());
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  data.x_values()[static_cast<std::size_t>(14 * data.x_stride() + 5)] = kNan;
  data.weight_values()[static_cast<std::size_t>(32 * data.weight_stride() + 47)] = kNan;
  backend_->make_projection(data.spec())->run(data.x(), data.y());
  for (std::int64_t r = 0; r < problem.rows; ++r) {
    for (std::int64_t c = 0; c < data.cols(); ++c) {
      ASSERT_EQ(std::isnan(data.result(r, c)), r == 14 || c == 47) << r << ' ' << c;
    }
  }
}

TEST_P(OperationProject, NeedsTheWeightsAtSetUpOnly) {
  const Problem problem{14, 17, 33, 1, true};
  const Data data(problem, backend_->head_layout());
  const auto projection = backend_->make_projection(data.spec());
  const std::vector<float> kept(data.weight_values().begin(), data.weight_values().end());
  fill_gaussian(data.weight_values(), 11);
  projection->run(data.x(), data.y());
  std::copy(kept.begin(), kept.end(), data.weight_values().begin());
  EXPECT_TRUE(exact(data, problem.rows));
}

TEST_P(OperationProject, NamesItsCostsAndWhoComputes) {
  const Problem problem{14, 17, 32, 2, true};
  const Data data(problem, backend_->head_layout());
  const OperationCosts costs = backend_->make_projection(data.spec())->costs();
  EXPECT_GE(costs.packed_bytes, problem.depth * data.cols() * 4);
  EXPECT_GE(costs.workspace_bytes, 0);
  EXPECT_FALSE(costs.provenance.empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, OperationProject, testing::ValuesIn(operation_cases()),
                         operation_case_name);

// docs/numerics.md: `naive` gives the same bits for wrapper and split.
TEST(NaiveProject, ColumnsDoNotDependOnTheirNeighbours) {
  const auto backend = backend_entry("naive").make({});
  const Problem problem{29, 385, 59, 3};
  const Data data(problem, backend->head_layout());
  fill_gaussian(data.x_values(), 12);
  fill_gaussian(data.weight_values(), 13);
  backend->make_projection(data.spec())->run(data.x(), data.y());
  for (std::int64_t b = 0; b < problem.blocks; ++b) {
    ProjectionSpec narrow = data.spec();
    ConstAnyMatrix& columns = narrow.products[0].weights[0];
    columns = columns.columns(b * problem.block_cols, problem.block_cols);
    const Activations activations(backend->head_layout(), problem.rows, 1, problem.block_cols);
    std::vector<float> y(static_cast<std::size_t>(activations.size()));
    backend->make_projection(narrow)->run(data.x(), activations.view(y.data()));
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      const auto width = static_cast<std::size_t>(problem.block_cols);
      ASSERT_TRUE(
          same_bits({data.y().at(r, b), width}, {activations.view(y.data()).at(r, 0), width}));
    }
  }
}

}  // namespace
}  // namespace headroom::test::operations_project_test
