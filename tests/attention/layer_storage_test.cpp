// Weights in few bits: a layer has the bits of a float32 layer whose weights are those that are
// stored, however a row is reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "core/element/few_bits.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"
#include "support/refusals.hpp"

namespace headroom::test::layer_storage_test {
namespace {

constexpr Storage kStorages[] = {Storage::bf16, Storage::q8, Storage::q4};

// Depths of x and of the output that end within a group and within a chunk, or do not; columns of
// whole panels and of others; more rows than a tile has, and than a stage's depth.
std::vector<Case> shapes() {
  Case plain = plain_shape(33, 32, 2, 16);
  Case ragged = plain_shape(37, 45, 3, 12);
  ragged.d_proj = 21;
  ragged.qkv_bias = true;
  ragged.gate = true;
  Case grouped = plain_shape(20, 1600, 4, 40);
  grouped.kv_heads = 2;
  grouped.d_proj = 100;
  grouped.rotary.pairs = Rotary::Pairs::halves;
  Case cross = plain_shape(18, 70, 2, 24);
  cross.causal = false;
  cross.d_memory = 50;
  cross.memory_tokens = 19;
  return {plain, ragged, grouped, cross};
}

AttentionOptions options_of(const LayerCase& layer_case, Storage storage, int threads = 0) {
  AttentionOptions options = layer_case.options(threads);
  options.weights_dtype = storage;
  return options;
}

Matrix run_with(const AttentionOptions& options, const Layer& layer, const SplitWeights& weights) {
  Attention attention(layer.shape, layer.shape, weights, options);
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view(), {.memory = layer.memory.view()});
  return y;
}

class LayerStorage : public LayerTest {};

TEST_P(LayerStorage, HasTheBitsOfTheWeightsThatAreStored) {
  for (const Case& shape : shapes()) {
    const Layer layer = gaussian_layer(shape);
    for (const Storage storage : kStorages) {
      SCOPED_TRACE(shape.id() + " " + std::string(to_string(storage)));
      const AttentionOptions options = options_of(GetParam(), storage);
      const Matrix y = run_with(options, layer, layer.weights);
      EXPECT_TRUE(
          same_bits(y, run_with(GetParam().options(), layer, stored(layer.weights, storage))));
    }
  }
}

TEST_P(LayerStorage, ReachesEachTokenWithTheSameBits) {
  Case shape = plain_shape(40, 70, 2, 20);
  shape.d_proj = 33;
  const Layer layer = gaussian_layer(shape);
  for (const Storage storage : kStorages) {
    SCOPED_TRACE(to_string(storage));
    const Matrix whole = run_with(options_of(GetParam(), storage, 1), layer, layer.weights);
    Attention attention(shape, shape, layer.weights, options_of(GetParam(), storage));
    KeyValueCache cache(attention, {1, 40});
    Matrix y(40, 33);
    std::int64_t first = 0;
    for (const std::int64_t rows : {1, 17, 1, 2, 9, 3, 7}) {
      attention.forward(layer.x.view().slice(first, rows), y.view().slice(first, rows),
                        {.cache = &cache});
      first += rows;
    }
    EXPECT_TRUE(same_bits(y, whole));
  }
}

std::vector<LayerCase> cases() {
  std::vector<LayerCase> all = layer_cases();
  std::erase_if(all, [](const LayerCase& one) { return one.backend == "onednn"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, LayerStorage, testing::ValuesIn(cases()), case_name);

TEST(LayerStorage, PacksAsManyBytesAsItSays) {
  Case shape = plain_shape(4, 64, 2, 32);
  const Layer layer = gaussian_layer(shape);
  AttentionOptions options;
  options.backend = "xsimd";
  const auto packed = [&](std::optional<Storage> storage) {
    options.weights_dtype = storage;
    return Attention(shape, shape, layer.weights, options).costs().packed_bytes;
  };
  const std::int64_t weights = 64 * 3 * 64;
  EXPECT_EQ(packed(std::nullopt), 4 * weights);
  EXPECT_EQ(packed(Storage::f32), 4 * weights);
  EXPECT_EQ(packed(Storage::bf16), 2 * weights);
  EXPECT_EQ(packed(Storage::q8), weights / 32 * 34);
  EXPECT_EQ(packed(Storage::q4), weights / 32 * 18);
}

TEST(LayerStorage, OtherPrecisionsBecomeFloat32WithoutAUnit) {
  const Layer layer = gaussian_layer(plain_shape(20, 64, 2, 32));
  AttentionOptions options;
  options.backend = "xsimd";
  options.unit = Unit::none;
  options.precision = Precision::bf16;
  options.weights_dtype = Storage::q8;
  const Attention attention(layer.shape, layer.shape, layer.weights, options);
  EXPECT_EQ(attention.choice().precision, Precision::f32);
  EXPECT_NE(attention.choice().precision_reason.find("has no unit for products of bf16"),
            std::string::npos);
}

TEST(LayerStorage, RefusesWhatCannotBeStored) {
  Layer layer = gaussian_layer(plain_shape(2, 40, 2, 8));
  AttentionOptions options;
  options.backend = "xsimd";
  const auto make = [&] { Attention(layer.shape, layer.shape, layer.weights, options); };
  for (const Storage storage : {Storage::q8, Storage::q4}) {
    options.weights_dtype = storage;
    float& weight = layer.weights.value.view().row(33)[5];
    const float before = weight;
    weight = std::numeric_limits<float>::quiet_NaN();
    expect_refused<InvalidArgument>("value: value (33, 5) is nan; as q", make);
    weight = storage == Storage::q8 ? -8319009.0F : -524033.0F;
    expect_refused<InvalidArgument>("can be stored", make);
    weight = storage == Storage::q8 ? -8319008.0F : -524032.0F;
    make();
    weight = before;
  }
  options.heads_of = {1, 4};
  expect_refused<Unsupported>("begins within a group of 32 output weights", make);
}

TEST(LayerStorage, OnednnReadsWeightsOfTheDtype) {
  const Layer layer = gaussian_layer(plain_shape(2, 32, 2, 8));
  AttentionOptions options;
  options.backend = "onednn";
  options.weights_dtype = Storage::q8;
  expect_refused<Unsupported>("with weights of q8 stored: the library's products read weights of",
                              [&] { run_with(options, layer, layer.weights); });
}

TEST(LayerStorage, LatentsKeepTheirWeights) {
  Case shape = plain_shape(3, 32, 2, 16);
  shape.latent.rank = 10;
  shape.latent.shared = 4;
  shape.rotary.pairs = Rotary::Pairs::halves;
  const Layer layer = gaussian_layer(shape);
  AttentionOptions options;
  options.weights_dtype = Storage::q4;
  expect_refused<Unsupported>("across the groups of q4",
                              [&] { Attention(shape, shape, layer.weights, options); });
}

}  // namespace
}  // namespace headroom::test::layer_storage_test
