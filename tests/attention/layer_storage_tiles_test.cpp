// Layers that multiply parts of weights in few bits. A task cuts them as it uses them, and its
// products have the bits of those that were cut once, from floats with the same values.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_storage_tiles_test {
namespace {

constexpr Storage kFewBits[] = {Storage::q8, Storage::q4};

// Each level's emulated tiles, and what units this machine has.
std::vector<LayerCase> cases() {
  std::vector<LayerCase> all;
  for (const Isa isa : available_isas()) {
    for (const Precision precision : {Precision::bf16x9, Precision::bf16x6, Precision::fp16x3,
                                      Precision::bf16x3, Precision::bf16}) {
      all.push_back({"xsimd", Formulation::split, isa, precision, "", Unit::emulated});
    }
  }
  for (const LayerCase& one : precision_cases()) {
    if (one.unit != Unit::emulated || one.backend == "tbb") all.push_back(one);
  }
  std::erase_if(all, [](const LayerCase& one) { return one.precision == Precision::int8; });
  return all;
}

class LayerStorageTiles : public LayerTest {
 protected:
  static AttentionOptions all_by_tiles(int threads = 0) {
    AttentionOptions options = GetParam().options(threads);
    options.few_rows = 0;
    return options;
  }

  static Matrix forward(const Layer& layer, const AttentionOptions& options) {
    Attention attention = layer_for(layer.shape, layer.weights, options);
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    attention.forward(layer.x.view(), y.view(), {.memory = layer.memory.view()});
    return y;
  }

  static void expect_the_bits_of_floats(const Layer& layer) {
    for (const Storage storage : kFewBits) {
      SCOPED_TRACE(layer.shape.id() + " " + std::string(to_string(storage)));
      AttentionOptions options = all_by_tiles();
      Layer rounded = layer;
      rounded.weights = stored(layer.weights, storage);
      const Matrix expected = forward(rounded, options);
      options.weights_dtype = storage;
      EXPECT_TRUE(same_bits(forward(layer, options), expected));
    }
  }
};

TEST_P(LayerStorageTiles, HasTheBitsOfTheWeightsThatAreStored) {
  Case plain = plain_shape(33, 32, 2, 16);
  Case ragged = plain_shape(37, 45, 3, 12);  // depths within a group, columns within a block
  ragged.d_proj = 21;
  ragged.qkv_bias = true;
  Case cross = plain_shape(18, 70, 2, 24);
  cross.causal = false;
  cross.d_memory = 50;
  cross.memory_tokens = 40;
  for (const Case& shape : {plain, ragged, cross}) {
    expect_the_bits_of_floats(gaussian_layer(shape));
  }
}

TEST_P(LayerStorageTiles, HasThemInStagesOfTheDepthAndTasksOfRows) {
  Case deep = plain_shape(5, 1180, 1, 40);
  Case long_one = plain_shape(290, 64, 1, 24);
  long_one.window = 3;
  expect_the_bits_of_floats(gaussian_layer(deep));
  expect_the_bits_of_floats(gaussian_layer(long_one));
}

// Such rows are computed by the kernels of f32, which expand groups as well.
TEST_P(LayerStorageTiles, HasThemForValuesThatPartsCannotCarry) {
  Layer layer = gaussian_layer(plain_shape(33, 64, 2, 16));
  const MatrixView x = layer.x.view();
  x.row(2)[5] = 1e-36F;
  x.row(4)[40] = 3e38F;
  x.row(32)[7] = std::numeric_limits<float>::infinity();
  expect_the_bits_of_floats(layer);
}

TEST_P(LayerStorageTiles, SaysWhoMultipliesAndKeepsNoParts) {
  const Layer layer = gaussian_layer(plain_shape(33, 64, 2, 16));
  for (const Storage storage : kFewBits) {
    AttentionOptions options = all_by_tiles(1);
    options.weights_dtype = storage;
    const Attention by_parts = layer_for(layer.shape, layer.weights, options);
    EXPECT_EQ(by_parts.choice().precision, GetParam().precision);
    EXPECT_EQ(by_parts.choice().precision_reason, "");
    EXPECT_NE(by_parts.costs().project_provenance.find(to_string(GetParam().precision)),
              std::string::npos);
    options.precision = Precision::f32;
    const Attention by_floats = layer_for(layer.shape, layer.weights, options);
    EXPECT_EQ(by_parts.costs().packed_bytes, by_floats.costs().packed_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerStorageTiles, testing::ValuesIn(cases()), case_name);

AttentionOptions by_emulated_tiles(Precision precision) {
  AttentionOptions options;
  options.backend = "xsimd";
  options.unit = Unit::emulated;
  options.precision = precision;
  return options;
}

// A call of few rows would spend its time on the cut.
TEST(LayerStorageTiles, LeavesMoreRowsToFloat32) {
  const Layer layer = gaussian_layer(plain_shape(40, 64, 2, 16));
  AttentionOptions options = by_emulated_tiles(Precision::bf16);
  EXPECT_EQ(layer_for(layer.shape, layer.weights, options).choice().few_rows, 3);
  options.weights_dtype = Storage::q8;
  EXPECT_EQ(layer_for(layer.shape, layer.weights, options).choice().few_rows, 9);
  options.precision = Precision::bf16x3;
  EXPECT_EQ(layer_for(layer.shape, layer.weights, options).choice().few_rows, 15);
}

// Keys and values of q8 have no parts; that is no reason to leave the products to f32 as well.
TEST(LayerStorageTiles, MultipliesPartsBesideACacheOfBytes) {
  Case shape = plain_shape(70, 64, 2, 32);
  const Layer layer = gaussian_layer(shape);
  AttentionOptions options = by_emulated_tiles(Precision::bf16x6);
  options.cache_dtype = Storage::q8;
  Attention attention = layer_for(shape, layer.weights, options);
  EXPECT_EQ(attention.choice().precision, Precision::bf16x6);
  EXPECT_NE(attention.costs().project_provenance.find("bf16x6"), std::string::npos);
  EXPECT_EQ(attention.costs().attend_provenance.find("bf16x6"), std::string::npos);
  const auto forward = [&](Attention& of) {
    Matrix y(shape.rows(), shape.output_width());
    of.forward(layer.x.view(), y.view());
    return y;
  };
  options.precision = Precision::f32;
  Attention by_floats = layer_for(shape, layer.weights, options);
  EXPECT_TRUE(agree(forward(attention), forward(by_floats)));
}

TEST(LayerStorageTiles, AttentionAloneOverBytesIsThatOfFloat32) {
  AttentionOptions options = by_emulated_tiles(Precision::bf16x6);
  options.cache_dtype = Storage::q8;
  const DotProductAttention attention({.queries = 70, .keys = 70, .heads = 2, .head_dim = 32},
                                      {.causal = true}, options);
  EXPECT_EQ(attention.choice().precision, Precision::f32);
  EXPECT_EQ(attention.choice().precision_reason, "keys and values of q8 are multiplied in f32");
}

}  // namespace
}  // namespace headroom::test::layer_storage_tiles_test
