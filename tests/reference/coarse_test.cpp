// The limits of precisions below f32: what is wrong is found with them, too, and a result that is
// only as coarse as they say passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/element/layer_numbers.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"
#include "support/planted.hpp"

namespace headroom::test::coarse_test {
namespace {

using reference::Comparison;
using reference::Data;
using reference::Expected;

constexpr Numbers kAll[] = {{Precision::f32, Dtype::f32},    {Precision::bf16x9, Dtype::f32},
                            {Precision::bf16x6, Dtype::f32}, {Precision::fp16x3, Dtype::f32},
                            {Precision::bf16x3, Dtype::f32}, {Precision::bf16, Dtype::f32},
                            {Precision::f32, Dtype::bf16},   {Precision::bf16, Dtype::bf16},
                            {Precision::int8, Dtype::f32},   {Precision::int8, Dtype::bf16}};

Case shape_of() {
  Case shape = plain_shape(96, 128, 4, 32);
  shape.d_proj = 64;
  shape.qkv_bias = true;
  return shape;
}

Expected expected_of(const Layer& layer) {
  Expected expected = oracle(layer);
  for (const Precision precision : {Precision::bf16x3, Precision::bf16, Precision::int8}) {
    reference::add_coarse_bound(layer.shape, layer.weights, layer.inputs(), precision, 2, expected);
  }
  return expected;
}

TEST(CoarseLimits, AreThoseOfTheirClass) {
  using reference::limits_of;
  const double f32 = limits_of({}).nrmse;
  EXPECT_EQ(limits_of({Precision::bf16x9}).nrmse, f32);
  EXPECT_EQ(limits_of({Precision::bf16x6}).nrmse, f32);
  EXPECT_EQ(limits_of({Precision::fp16x3}).nrmse, f32);
  EXPECT_DOUBLE_EQ(limits_of({Precision::bf16x3}).nrmse, 10 * f32);
  EXPECT_DOUBLE_EQ(limits_of({Precision::bf16x3}).max_over_rms, 5e-4);
  EXPECT_EQ(limits_of({Precision::bf16}).nrmse, 1e-2);
  EXPECT_EQ(limits_of({Precision::bf16}).max_over_rms, 1e-1);
  EXPECT_EQ(limits_of({Precision::f32, Dtype::bf16}).nrmse, 1e-2) << "what is stored is rounded";
}

// Noise of a size that f32 may not have, and bf16x3, and bf16.
TEST(CoarseLimits, AResultThatIsWorseThanItSaysFails) {
  const Layer layer = gaussian_layer(shape_of());
  const Expected expected = expected_of(layer);
  const auto passes = [&](double relative, const Numbers& numbers) {
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    double rms = 0;
    for (const double value : expected.y) rms += value * value;
    rms = std::sqrt(rms / static_cast<double>(expected.y.size()));
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = static_cast<float>(expected.y[i] + (i % 2 == 0 ? 1 : -1) * relative * rms);
    }
    return reference::compare(expected, y.view(), Data::standard, numbers).passed;
  };
  const Numbers f32, three{Precision::bf16x3}, one{Precision::bf16};
  EXPECT_TRUE(passes(3e-6, f32));
  EXPECT_FALSE(passes(2e-5, f32));
  EXPECT_FALSE(passes(2e-5, {Precision::bf16x6}));
  EXPECT_TRUE(passes(2e-5, three));
  EXPECT_FALSE(passes(2e-4, three));
  EXPECT_TRUE(passes(4e-3, one));
  EXPECT_FALSE(passes(2e-2, one));
}

TEST(CoarseLimits, PlantedErrorsAreFoundAtEveryPrecision) {
  const Layer layer = gaussian_layer(shape_of());
  const Expected expected = expected_of(layer);
  for (const Numbers& numbers : kAll) {
    const auto compare = [&](Fault fault) {
      const Matrix y = planted(layer, fault);
      return reference::compare(expected, y.view(), Data::standard, numbers);
    };
    EXPECT_TRUE(compare(Fault::none).passed) << headroom::to_string(numbers);
    for (const Fault fault : faults_of(layer.shape)) {
      // A single element that is off by a hundredth is what bf16 makes of many.
      const Precision of_limits = reference::limit_class(numbers);
      const bool coarse = of_limits == Precision::bf16 || of_limits == Precision::int8;
      if (coarse && fault == Fault::one_bad_element) continue;
      EXPECT_FALSE(compare(fault).passed)
          << headroom::to_string(numbers) << " " << to_string(fault);
    }
  }
}

// 16 bits find all of these. 8 bits may lose as much as a bias that is small beside its product, or
// one value of many; standard data, which has limits of its own, finds them.
TEST(CoarseBound, MistakesAreBeyondIt) {
  const std::vector<Fault> small{Fault::query_bias_left_out, Fault::value_bias_left_out,
                                 Fault::value_of_another_token};
  Case shape = shape_of();
  for (const double dropout : {0.0, 0.4}) {
    shape.dropout = dropout;
    const Layer layer = gaussian_layer(shape);
    const Expected expected = expected_of(layer);
    for (const Numbers numbers : {Numbers{Precision::bf16x3}, Numbers{Precision::bf16}}) {
      const auto compare = [&](Fault fault) {
        const Matrix y = planted(layer, fault);
        return reference::compare(expected, y.view(), Data::adversarial, numbers);
      };
      EXPECT_LT(compare(Fault::none).bound_ratio, 0.1);
      for (const Fault fault :
           {Fault::all_zeros, Fault::one_nan, Fault::swapped_heads, Fault::mask_off_by_one,
            Fault::scale_by_head_dim, Fault::output_bias_left_out, Fault::query_bias_left_out,
            Fault::value_bias_left_out, Fault::value_of_another_token}) {
        const bool is_small = std::find(small.begin(), small.end(), fault) != small.end();
        if (numbers.precision == Precision::bf16 && is_small) continue;
        const Comparison found = compare(fault);
        EXPECT_FALSE(found.passed)
            << headroom::to_string(numbers) << " " << to_string(fault) << ": " << found.bound_ratio;
      }
    }
  }
}

// Wider than that of f32, and narrower the more bits there are.
TEST(CoarseBound, GrowsWithTheRoundingOfOperands) {
  const Expected expected = expected_of(gaussian_layer(shape_of()));
  const auto& three = expected.coarse_bounds.at(Precision::bf16x3);
  const auto& one = expected.coarse_bounds.at(Precision::bf16);
  for (std::size_t i = 0; i < expected.bound.size(); ++i) {
    EXPECT_GT(three[i], expected.bound[i]);
    EXPECT_GT(one[i], three[i]);
    EXPECT_TRUE(std::isfinite(one[i]));
  }
}

TEST(CoarseBound, IsNeededForAdversarialDataAlone) {
  const Layer layer = gaussian_layer(plain_shape(5, 8, 2, 4));
  const Expected expected = oracle(layer);
  const Matrix y = planted(layer, Fault::none);
  const Numbers one{Precision::bf16};
  EXPECT_TRUE(reference::compare(expected, y.view(), Data::standard, one).passed);
  EXPECT_THROW(reference::compare(expected, y.view(), Data::adversarial, one), InvalidArgument);
  EXPECT_TRUE(reference::compare(expected, y.view(), Data::adversarial, {}).passed);
}

// Few rows of a large layer are computed in another order, whose bound is wider: it knows no k.
TEST(CoarseBound, TheOtherOrderIsNoNarrower) {
  const Case shape = plain_shape(200, 64, 8, 64);
  const Layer layer = gaussian_layer(shape);
  Expected few = reference::attention(shape, layer.weights, layer.inputs(), {199}, 1);
  reference::add_coarse_bound(shape, layer.weights, layer.inputs(), Precision::bf16, 1, few);
  const Expected all = expected_of(layer);
  const auto& of_few = few.coarse_bounds.at(Precision::bf16);
  for (std::size_t c = 0; c < of_few.size(); ++c) {
    const double of_all = all.coarse_bounds.at(Precision::bf16)[199 * of_few.size() + c];
    EXPECT_GE(of_few[c], of_all);
    EXPECT_TRUE(std::isfinite(of_few[c]));
  }
}

}  // namespace
}  // namespace headroom::test::coarse_test
