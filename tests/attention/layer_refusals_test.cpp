// Calls that are refused: what the message names, and that nothing is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "support/call_shapes.hpp"
#include "support/layer_cases.hpp"
#include "support/refusals.hpp"

namespace headroom::test::layer_refusals_test {
namespace {

class LayerRefusals : public LayerTest {};

TEST_P(LayerRefusals, AFullCacheIsAnErrorThatLosesNothing) {
  const Layer layer = gaussian_layer(with_everything());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  const Matrix expected = run(GetParam(), layer);
  KeyValueCache cache(attention, {1, 50});
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(rows(layer.x, 0, 45), rows_of(y, 0, 45), {.cache = &cache});
  std::fill(y.values.begin() + 45 * y.cols, y.values.end(), -1.0F);
  try {
    attention.forward(rows(layer.x, 45, 6), rows_of(y, 45, 6), {.cache = &cache});
    FAIL() << "6 tokens went where 5 have room";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("room for 5 more"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cache.length(), 45);
  EXPECT_TRUE(std::all_of(y.values.begin() + 45 * y.cols, y.values.end(),
                          [](float v) { return v == -1.0F; }));
  EXPECT_THROW(attention.append(rows(layer.x, 45, 6), {.cache = &cache}), InvalidArgument);
  EXPECT_EQ(cache.length(), 45);
  attention.forward(rows(layer.x, 45, 5), rows_of(y, 45, 5), {.cache = &cache});
  EXPECT_TRUE(equal_for(GetParam(), rows(y, 0, 50), rows(expected, 0, 50)));
}

// Refused when x and lengths were read and found good: the views come last.
TEST_P(LayerRefusals, ARefusedViewLosesNothing) {
  const Layer layer = gaussian_layer(with_everything());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  KeyValueCache cache(attention, {1, 50});
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(rows(layer.x, 0, 30), rows_of(y, 0, 30), {.cache = &cache});
  std::fill(y.values.begin() + 30 * y.cols, y.values.end(), -1.0F);
  MatrixView narrow = rows_of(y, 30, 10);
  narrow.row_stride -= 1;
  const MatrixView nowhere{nullptr, 10, y.cols, y.cols};
  for (const MatrixView& wrong : {narrow, nowhere, rows_of(y, 30, 9)}) {
    EXPECT_THROW(attention.forward(rows(layer.x, 30, 10), wrong, {.cache = &cache}),
                 InvalidArgument);
    EXPECT_EQ(cache.length(), 30);
  }
  EXPECT_TRUE(std::all_of(y.values.begin() + 30 * y.cols, y.values.end(),
                          [](float v) { return v == -1.0F; }));
  attention.forward(rows(layer.x, 30, 10), rows_of(y, 30, 10), {.cache = &cache});
  EXPECT_TRUE(equal_for(GetParam(), rows(y, 0, 40), rows(run(GetParam(), layer), 0, 40)));
}

TEST_P(LayerRefusals, CallsThatDoNotFitAreRefused) {
  const Layer layer = gaussian_layer(with_everything());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  Attention twin = layer_for(layer.shape, layer.weights, GetParam().options());
  KeyValueCache of_twin(twin, {1, 10});
  KeyValueCache pair(attention, {2, 10});
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  const auto forward = [&](std::int64_t count, const Lengths& lengths, KeyValueCache* cache) {
    Call call;
    call.lengths = lengths;
    call.cache = cache;
    attention.forward(rows(layer.x, 0, count), rows_of(y, 0, count), call);
  };
  expect_refused("another layer", [&] { forward(5, {}, &of_twin); });
  expect_refused("3 rows for 2 sequences", [&] { forward(3, {}, &pair); });
  expect_refused("1 lengths for a cache of 2", [&] { forward(3, {3}, &pair); });
  expect_refused("x has -2 rows", [&] { forward(-2, {}, &pair); });
  expect_refused("length 1 is -1", [&] { forward(3, {4, -1}, nullptr); });
  expect_refused("length 0 is 151", [&] { forward(150, {151}, nullptr); });
  expect_refused("add up to 4", [&] { forward(5, {1, 3}, nullptr); });
  expect_refused("there is no sequence 2", [&] { pair.truncate({2, 0}); });
  expect_refused("cannot be cut to 1", [&] { pair.truncate({0, 1}); });
  expect_refused("another cache of the same layer", [&] { pair.take(of_twin, Lengths{0, 0}); });
  expect_refused("another cache of the same layer", [&] { pair.take(pair, Lengths{0, 1}); });
  KeyValueCache longer(attention, {1, 11});
  forward(11, {}, &longer);
  expect_refused("1 sequences are named for one of 2", [&] { pair.take(longer, Lengths{0}); });
  expect_refused("there is no sequence 1", [&] { pair.take(longer, Lengths{1, 0}); });
  expect_refused("has 11 tokens and there is room for 10", [&] {
    pair.take(longer, Lengths{0, 0});
  });
  expect_refused("0 sequences", [&] { KeyValueCache(attention, {0, 4}); });
  expect_refused("63-bit", [&] { KeyValueCache(attention, {1 << 30, std::int64_t{1} << 40}); });
  Call with_memory;
  with_memory.memory = layer.x.view();
  expect_refused("memory is given",
                 [&] { attention.forward(layer.x.view(), y.view(), with_memory); });
}

TEST_P(LayerRefusals, AppendingNeedsACacheAndKeysOfX) {
  const Layer layer = gaussian_layer(with_everything());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  expect_refused("no cache", [&] { attention.append(layer.x.view(), Call{}); });
  KeyValueCache cache(attention, {1, 50});
  ConstMatrixView narrow = rows(layer.x, 0, 3);
  narrow.row_stride -= 1;
  expect_refused("x", [&] { attention.append(narrow, {.cache = &cache}); });
  EXPECT_EQ(cache.length(), 0);
  Case shape = plain_shape(10, 8, 2, 4);
  shape.causal = false;
  shape.d_memory = 6;
  shape.memory_tokens = 5;
  const Layer crossed = gaussian_layer(shape);
  Attention cross = layer_for(crossed.shape, crossed.weights, GetParam().options());
  KeyValueCache of_memory(cross, {1, 5});
  expect_refused("of memory", [&] { cross.append(crossed.x.view(), {.cache = &of_memory}); });
}

TEST_P(LayerRefusals, PaddingThatComesBeforeMustSayHowMuch) {
  const Layer layer = gaussian_layer(with_everything());
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  Matrix y(layer.x.rows, layer.shape.output_width());
  Call call;
  call.padded_before = true;
  expect_refused("padded_before is set",
                 [&] { attention.forward(layer.x.view(), y.view(), call); });
}

TEST_P(LayerRefusals, PaddingWithoutLengthsMustFit) {
  Case shape = with_everything();
  shape.batch = 2;
  shape.tokens = 20;
  shape.d_proj = 0;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  Matrix y(40, layer.shape.output_width());
  Call call;
  for (const std::int64_t padded : {19, 21, 1 << 30}) {
    call.padded_tokens = padded;
    expect_refused("with padded_tokens",
                   [&] { attention.forward(layer.x.view(), y.view(), call); });
  }
  call.padded_tokens = 20;
  attention.forward(layer.x.view(), y.view(), call);
  EXPECT_TRUE(equal_for(GetParam(), y.view(), run(GetParam(), layer).view()));
}

TEST_P(LayerRefusals, OneSequenceMayNotTakeTheMemoryOfAll) {
  Case shape = plain_shape(5, 12, 2, 8);
  shape.batch = 4;
  shape.causal = false;
  shape.d_memory = 7;
  shape.memory_tokens = 9;
  const Layer layer = gaussian_layer(shape);
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  Matrix y(5, layer.shape.output_width());
  const Lengths alone{5};
  Call call;
  call.lengths = alone;
  call.memory = layer.memory.view();
  const auto forward = [&] { attention.forward(rows(layer.x, 0, 5), y.view(), call); };
  expect_refused("up to 9 of a sequence", forward);
  call.memory.rows = -4;
  expect_refused("memory has -4 rows", forward);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerRefusals, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::layer_refusals_test
