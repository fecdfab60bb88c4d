// A NaN of any payload, in any operand: the result is NaN where that of float32 is, and nowhere
// else, on every backend, level and unit and at every precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_nans_test {
namespace {

/// Signalling and quiet, of both signs. Rounded to bfloat16 as a number is, the first becomes an
/// infinity, and those from 0x7fff8000 on a zero. Memory full of ones is the last.
constexpr std::uint32_t kNans[] = {0x7f800001U, 0x7fbfffffU, 0x7fc00000U, 0x7fff8000U, 0x7fffffffU,
                                   0xff800001U, 0xffbfffffU, 0xffc00000U, 0xffff8000U, 0xffffffffU};

std::vector<LayerCase> every_case() {
  std::vector<LayerCase> cases = layer_cases();
  for (const LayerCase& each : precision_cases()) cases.push_back(each);
  for (const BackendInfo& backend : backends()) {
    if (!backend.available || backend.name != "onednn") continue;
    const auto found = arithmetic_of(backend.name, {Precision::bf16, Dtype::f32}, select_target());
    cases.push_back({backend.name, Formulation::split, std::nullopt, Precision::bf16,
                     found.precision == Precision::bf16 ? "" : found.reason});
  }
  return cases;
}

/// Where a layer can have a NaN.
struct Place {
  std::string name;
  std::function<void(Layer&, float)> put;
};

const std::vector<Place>& places() {
  static const std::vector<Place> all = {
      {"one of x", [](Layer& layer, float nan) { layer.x.view().row(20)[3] = nan; }},
      {"a row of x",
       [](Layer& layer, float nan) { std::fill_n(layer.x.view().row(20), layer.x.cols, nan); }},
      {"all of x", [](Layer& layer,
                      float nan) { std::fill(layer.x.values.begin(), layer.x.values.end(), nan); }},
      {"W_q", [](Layer& layer, float nan) { layer.weights.query.view().row(5)[21] = nan; }},
      {"W_k", [](Layer& layer, float nan) { layer.weights.key.view().row(5)[39] = nan; }},
      {"W_v", [](Layer& layer, float nan) { layer.weights.value.view().row(5)[40] = nan; }},
      {"W_o", [](Layer& layer, float nan) { layer.weights.output.view().row(59)[31] = nan; }}};
  return all;
}

class LayerNans : public LayerTest {};

void expect_nans_of_float32(const AttentionOptions& options) {
  Case shape = plain_shape(60, 40, 3, 20);  // more rows than any unit leaves to float32
  shape.d_proj = 32;
  const Layer layer = gaussian_layer(shape);
  for (const Place& place : places()) {
    for (const std::uint32_t nan : kNans) {
      Layer changed = layer;
      place.put(changed, std::bit_cast<float>(nan));
      const Matrix expected = run({"naive", Formulation::split, {}, Precision::f32, ""}, changed);
      Attention attention = layer_for(changed.shape, changed.weights, options);
      Matrix y(changed.shape.rows(), changed.shape.output_width());
      attention.forward(changed.x.view(), y.view());
      for (std::int64_t r = 0; r < y.rows; ++r) {
        for (std::int64_t c = 0; c < y.cols; ++c) {
          ASSERT_EQ(std::isnan(y.view().row(r)[c]), std::isnan(expected.view().row(r)[c]))
              << std::hex << nan << std::dec << " in " << place.name << ", seen at " << r << ", "
              << c;
        }
      }
    }
  }
}

TEST_P(LayerNans, OfAnyPayloadReachWhatTheyReachInFloat32) {
  expect_nans_of_float32(GetParam().options());
}

AttentionOptions stored_as_bf16(const LayerCase& layer_case) {
  AttentionOptions options = layer_case.options();
  options.dtype = Dtype::bf16;
  return options;
}

/// Those that store numbers as bf16.
std::vector<LayerCase> storing_cases() {
  std::vector<LayerCase> cases = every_case();
  std::erase_if(cases, [](const LayerCase& each) {
    if (!each.skip_reason.empty()) return true;
    const AttentionOptions options = stored_as_bf16(each);
    return arithmetic_of(options.backend, {options.precision.value(), options.dtype},
                         select_target(options.isa, options.unit))
               .precision != options.precision;
  });
  return cases;
}

class LayerNansStored : public LayerTest {};

TEST_P(LayerNansStored, StayWhatTheyAre) { expect_nans_of_float32(stored_as_bf16(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Layers, LayerNansStored, testing::ValuesIn(storing_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Layers, LayerNans, testing::ValuesIn(every_case()), case_name);

TEST(Bf16Rounding, KeepsANanOfAnyPayload) {
  for (const std::uint32_t nan : kNans) {
    const float rounded = round_to_bf16(std::bit_cast<float>(nan)).value();
    EXPECT_TRUE(std::isnan(rounded)) << std::hex << nan;
    EXPECT_EQ(std::signbit(rounded), (nan & 0x80000000U) != 0) << std::hex << nan;
  }
}

}  // namespace
}  // namespace headroom::test::layer_nans_test
