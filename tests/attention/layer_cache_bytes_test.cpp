// Keys and values in eight bits: each row against the oracle, which is fed them, and with the same
// bits however it is reached.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "core/element/cache_bytes.hpp"
#include "headroom/error.hpp"
#include "support/layer_cases.hpp"
#include "support/refusals.hpp"

namespace headroom::test::layer_cache_bytes_test {
namespace {

using Lengths = std::vector<std::int64_t>;

AttentionOptions options_of(const LayerCase& layer_case, int threads = 0) {
  AttentionOptions options = layer_case.options(threads);
  options.cache_dtype = Storage::q8;
  return options;
}

// Blocks that end within a tile; heads and values of whole vectors and of others; groups, windows
// that begin within a block, biases, sinks, caps and more keys than a block of a kernel has.
std::vector<Case> shapes() {
  Case plain = plain_shape(200, 40, 2, 16);
  Case grouped = plain_shape(150, 48, 6, 20);
  grouped.kv_heads = 2;
  grouped.value_dim = 12;
  grouped.d_proj = 33;
  grouped.qkv_bias = true;
  grouped.rotary.pairs = Rotary::Pairs::halves;
  grouped.window = 70;
  grouped.sinks = true;
  Case biased = plain_shape(330, 40, 4, 32);
  biased.position_bias.kind = PositionBias::Kind::slopes;
  Case capped = plain_shape(140, 40, 2, 64);
  capped.kv_heads = 1;
  capped.softcap = 5;
  capped.chunk = 100;
  capped.dropout = 0.25;
  Case batch = plain_shape(97, 30, 3, 24);
  batch.batch = 2;
  return {plain, grouped, biased, capped, batch};
}

Matrix run_with(const AttentionOptions& options, const Layer& layer) {
  Attention attention(layer.shape, layer.shape, layer.weights, options);
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  return y;
}

reference::Expected expected(const Layer& layer, bool rounds) {
  reference::Inputs inputs = layer.inputs();
  inputs.rounds_cache = rounds;
  return reference::attention(layer.shape, layer.weights, inputs, reference::all_rows(layer.shape),
                              1);
}

class LayerCacheBytes : public LayerTest {};

TEST_P(LayerCacheBytes, MatchTheOracleThatIsFedThem) {
  for (const Case& shape : shapes()) {
    SCOPED_TRACE(shape.id());
    const Layer layer = gaussian_layer(shape);
    const Matrix y = run_with(options_of(GetParam()), layer);
    const reference::Expected stored = expected(layer, true);
    const auto found = compare(stored, y.view(), reference::Data::adversarial);
    EXPECT_TRUE(found.passed) << found.reason;
    const double cost = reference::distance(stored, expected(layer, false));
    EXPECT_GT(cost, 1e-4);
    EXPECT_LT(cost, 2e-2);
  }
}

// Step by step, in chunks that end at a block or within it, by any number of threads.
TEST_P(LayerCacheBytes, GiveEachTokenTheSameBits) {
  for (Case shape : shapes()) {
    if (shape.batch > 1) continue;
    SCOPED_TRACE(shape.id());
    const Layer layer = gaussian_layer(shape);
    const Matrix whole = run_with(options_of(GetParam(), 1), layer);
    for (const int threads : {1, 3}) {
      for (const Lengths& chunks :
           {Lengths{1, 62, 1, 1, 3}, Lengths{63, 2, 4}, Lengths{70, 1}, Lengths{17, 128}}) {
        Attention attention(shape, shape, layer.weights, options_of(GetParam(), threads));
        KeyValueCache cache(attention, {1, shape.tokens});
        Matrix y(shape.tokens, shape.output_width());
        std::int64_t first = 0;
        for (std::size_t i = 0; first < shape.tokens; ++i) {
          const std::int64_t rows = std::min(chunks[i % chunks.size()], shape.tokens - first);
          attention.forward(layer.x.view().slice(first, rows), y.view().slice(first, rows),
                            {.cache = &cache});
          first += rows;
        }
        EXPECT_TRUE(same_bits(y, whole)) << threads << " threads, chunks of " << chunks.front();
      }
    }
  }
}

// Hidden keys, and added biases, in one call and after a past.
TEST_P(LayerCacheBytes, TakeMasks) {
  const Case shape = plain_shape(140, 40, 4, 24);
  const Layer layer = gaussian_layer(shape);
  std::vector<float> added(140 * 140);
  for (std::size_t i = 0; i < added.size(); ++i) {
    const bool hidden = i % 7 == 3 && i % 140 != i / 140;
    added[i] =
        hidden ? -std::numeric_limits<float>::infinity() : 0.125F * static_cast<float>(i % 11);
  }
  reference::Inputs inputs = layer.inputs();
  inputs.rounds_cache = true;
  inputs.mask = [&](std::int64_t, std::int64_t, std::int64_t row, std::int64_t key) {
    return static_cast<double>(added[static_cast<std::size_t>(row * 140 + key)]);
  };
  const reference::Expected stored =
      reference::attention(shape, layer.weights, inputs, reference::all_rows(shape), 1);
  Attention attention(shape, shape, layer.weights, options_of(GetParam()));
  Matrix y(140, shape.output_width()), after(140, shape.output_width());
  MaskView mask;
  mask.added = added.data();
  mask.queries = mask.keys = 140;
  mask.query_stride = 140;
  attention.forward(layer.x.view(), y.view(), {.mask = mask});
  const auto found = compare(stored, y.view(), reference::Data::adversarial);
  EXPECT_TRUE(found.passed) << found.reason;
  KeyValueCache cache(attention, {1, 140});
  for (std::int64_t first = 0; first < 140; first += 35) {
    mask.added = added.data() + first * 140;
    mask.queries = 35;
    mask.keys = first + 35;
    attention.forward(layer.x.view().slice(first, 35), after.view().slice(first, 35),
                      {.cache = &cache, .mask = mask});
  }
  EXPECT_TRUE(same_bits(after, y));
}

TEST_P(LayerCacheBytes, GiveTheSameBitsBesideOtherSequences) {
  const Case one = plain_shape(170, 40, 3, 24);
  const Layer layer = gaussian_layer(one);
  const Matrix whole = run_with(options_of(GetParam()), layer);
  Case many = one;
  many.batch = 3;
  Attention attention(many, many, layer.weights, options_of(GetParam(), 2));
  KeyValueCache cache(attention, {3, 170});
  Matrix y(170, one.output_width());
  // Of the second of three, beside rows of its own input.
  std::int64_t first = 0;
  for (const std::int64_t rows : {1, 80, 60, 2, 27}) {
    const std::int64_t before = std::min<std::int64_t>(rows, 5), after = 1;
    Matrix x(before + rows + after, one.d_in), out(x.rows, one.output_width());
    for (std::int64_t r = 0; r < x.rows; ++r) {
      const std::int64_t from = r < before ? 100 + r : r < before + rows ? first + r - before : 3;
      std::copy_n(layer.x.view().row(from), one.d_in, x.view().row(r));
    }
    const Lengths lengths{before, rows, after};
    attention.forward(x.view(), out.view(), {.lengths = lengths, .cache = &cache});
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(out.view().row(before + r), out.cols, y.view().row(first + r));
    }
    first += rows;
  }
  EXPECT_TRUE(same_bits(y, whole));
}

TEST_P(LayerCacheBytes, AreCutToABlockOrWithinTheLast) {
  const Case shape = plain_shape(160, 40, 2, 24);
  const Layer layer = gaussian_layer(shape);
  const Layer other = gaussian_layer(shape, 91);
  const Matrix whole = run_with(options_of(GetParam()), layer);
  Attention attention(shape, shape, layer.weights, options_of(GetParam()));
  KeyValueCache cache(attention, {1, 200});
  Matrix y(160, shape.output_width());
  const auto add = [&](const Layer& of, std::int64_t first, std::int64_t rows) {
    attention.forward(of.x.view().slice(first, rows), y.view().slice(first, rows),
                      {.cache = &cache});
  };
  add(layer, 0, 70);
  add(other, 70, 20);
  cache.truncate({0, 70});  // within the last block
  add(layer, 70, 30);
  cache.truncate({0, 100});  // nothing
  add(other, 100, 50);
  expect_refused("cannot be cut to 100, within a block of 64 keys that were rounded together", [&] {
    cache.truncate({0, 100});
  });
  expect_refused("lengths from 128 on", [&] { cache.truncate({0, 63}); });
  expect_refused("allowed are 0 to 150", [&] { cache.truncate({0, 151}); });
  EXPECT_EQ(cache.length(), 150);
  cache.truncate({0, 64});
  add(layer, 64, 64);
  expect_refused("cannot be cut", [&] { cache.truncate({0, 127}); });
  add(layer, 128, 32);
  EXPECT_TRUE(same_bits(y, whole));
}

TEST_P(LayerCacheBytes, GoOnFromACopy) {
  const Case shape = plain_shape(150, 40, 2, 24);
  const Layer layer = gaussian_layer(shape);
  const Matrix whole = run_with(options_of(GetParam()), layer);
  Attention attention(shape, shape, layer.weights, options_of(GetParam()));
  KeyValueCache small(attention, {2, 90}), large(attention, {2, 150});
  Matrix y(150, shape.output_width());
  const Lengths second{0, 90};
  attention.forward(layer.x.view().slice(0, 90), y.view().slice(0, 90),
                    {.lengths = second, .cache = &small});
  const Lengths both{1, 0};
  large.take(small, both);
  EXPECT_EQ(large.length(0), 90);
  const Lengths first{60, 0};
  attention.forward(layer.x.view().slice(90, 60), y.view().slice(90, 60),
                    {.lengths = first, .cache = &large});
  EXPECT_TRUE(same_bits(y, whole));
}

// What is no number stays within the rows that see its token, or its block after that is rounded.
TEST_P(LayerCacheBytes, KeepNanFromRowsBeforeIt) {
  const Case shape = plain_shape(140, 40, 2, 24);
  Layer layer = gaussian_layer(shape);
  const Matrix clean = run_with(options_of(GetParam()), layer);
  layer.x.view().row(70)[3] = std::numeric_limits<float>::quiet_NaN();
  const Matrix y = run_with(options_of(GetParam()), layer);
  EXPECT_TRUE(same_bits(rows(y, 0, 70), rows(clean, 0, 70)));
  for (std::int64_t r = 70; r < 140; ++r) EXPECT_TRUE(std::isnan(y.view().row(r)[0])) << r;
}

std::vector<LayerCase> cases(std::vector<LayerCase> all) {
  std::erase_if(all, [](const LayerCase& one) { return one.backend == "onednn"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, LayerCacheBytes, testing::ValuesIn(cases(backend_cases())),
                         case_name);

AttentionOptions of_backend(const std::string& backend, Storage storage) {
  AttentionOptions options;
  options.backend = backend;
  options.cache_dtype = storage;
  return options;
}

TEST(LayerCacheBytes, TakeAsManyAsAreCounted) {
  Case shape = plain_shape(1, 256, 4, 64);
  shape.kv_heads = 2;
  const Layer layer = gaussian_layer(shape);
  const auto bytes = [&](std::int64_t tokens) {
    Attention attention(shape, shape, layer.weights, of_backend("xsimd", Storage::q8));
    return KeyValueCache(attention, {1, tokens}).bytes();
  };
  EXPECT_EQ(bytes(64 * 100) - bytes(64 * 20), cache_bytes(Storage::q8, 64 * 80, shape));
}

TEST(LayerCacheBytes, AreRefusedWhereTheyMeanNothing) {
  const Case plain = plain_shape(4, 32, 2, 16);
  const auto refused = [](const std::string& words, const Case& shape, const std::string& backend,
                          Storage storage) {
    const Layer layer = gaussian_layer(shape);
    expect_refused<std::runtime_error>(words, [&] {
      Attention attention(shape, shape, layer.weights, of_backend(backend, storage));
    });
  };
  Case open = plain;
  open.causal = false;
  Case cross = open;
  cross.d_memory = 20;
  cross.memory_tokens = 5;
  for (const std::string backend : {"naive", "xsimd"}) {
    refused("the layer must be causal", open, backend, Storage::q8);
    refused("tokens of a second input have no order", cross, backend, Storage::q8);
  }
  refused("keys and values of the dtype of x", plain, "onednn", Storage::q8);
  const Layer layer = gaussian_layer(plain);
  expect_refused("allowed are f32, bf16 and q8", [&] {
    Attention attention(plain, plain, layer.weights, of_backend("xsimd", Storage::q4));
  });
}

TEST(LayerCacheBytes, MayBeHalvesBesideFloats) {
  const Case shape = plain_shape(30, 40, 2, 24);
  const Layer layer = gaussian_layer(shape);
  const Matrix plain = run_with(of_backend("xsimd", Storage::f32), layer);
  for (const std::string backend : {"naive", "xsimd"}) {
    const Matrix halves = run_with(of_backend(backend, Storage::bf16), layer);
    EXPECT_TRUE(agree(halves, plain, Precision::bf16)) << backend;
    EXPECT_FALSE(agree(halves, plain)) << backend;
  }
}

}  // namespace
}  // namespace headroom::test::layer_cache_bytes_test
