// Layers of tests/data/rotary, which models turn by positions of their own or otherwise in long
// contexts: read from their files, called as the model was called, and held against what it gave in
// float64.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"
#include "reference/oracle.hpp"
#include "support/layer_cases.hpp"
#include "support/model_entries.hpp"
#include "support/refusals.hpp"

namespace headroom::test::rotary_layers_test {
namespace {

// As in model_layers_test.cpp.
constexpr double kMostInFloat = 2e-6;
constexpr double kMostInDouble = 1e-7;

std::filesystem::path folder_of(const std::string& name) {
  return models_folder().parent_path() / "rotary" / name;
}

/// What a model was called with, and what it gave.
struct Calls {
  Layer layer;  ///< with the x of all calls
  std::vector<std::int64_t> rows;
  std::vector<double> expected;
};

std::vector<std::int64_t> wholes(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

LayerWeights loaded(const std::string& name, const std::string& config) {
  WeightsOptions options;
  options.layer = "1";
  options.config = folder_of(name) / config;
  return load_weights(folder_of(name) / "model.safetensors", options);
}

Calls calls_of(const std::string& name, const std::string& config = "config.json") {
  const LayerWeights weights = loaded(name, config);
  EXPECT_TRUE(weights.notes.empty()) << name << ": " << weights.notes.front();
  Calls calls{{{weights.config, {}, {}}, to_split(weights.weights), {}}, {}, {}};
  const std::filesystem::path file = folder_of(name) / "calls.safetensors";
  std::vector<std::int64_t> dims;
  calls.expected = read_doubles(file, "expected", dims);
  calls.rows = wholes(read_doubles(file, "rows", dims));
  const std::vector<double> x = read_doubles(file, "x", dims);
  calls.layer.x = Matrix(dims.at(0), dims.at(1));
  for (std::size_t i = 0; i < x.size(); ++i) calls.layer.x.values[i] = static_cast<float>(x[i]);
  calls.layer.shape.batch = 1;
  calls.layer.shape.tokens = dims.at(0);
  if (weights.config.rotary.has_sections()) {
    calls.layer.positions = wholes(read_doubles(file, "positions", dims));
  }
  return calls;
}

TEST(RotaryLayers, AreReadFromBothSpellings) {
  for (const char* name : {"qwen2_vl", "qwen3_vl", "llama_dynamic", "phi_longrope"}) {
    EXPECT_EQ(loaded(name, "published.json").config, loaded(name, "config.json").config) << name;
  }
  const Rotary chunks = loaded("qwen2_vl", "config.json").config.rotary;
  EXPECT_EQ(chunks.sections, (std::array<std::int64_t, 3>{1, 1, 2}));
  EXPECT_FALSE(chunks.interleaved);
  const Rotary turns = loaded("qwen3_vl", "config.json").config.rotary;
  EXPECT_EQ(turns.sections, (std::array<std::int64_t, 3>{4, 2, 2}));
  EXPECT_TRUE(turns.interleaved);
  const Rotary grows = loaded("llama_dynamic", "config.json").config.rotary;
  EXPECT_EQ(grows.context, 16);
  EXPECT_EQ(grows.growth, 4);
  const Rotary two = loaded("phi_longrope", "config.json").config.rotary;
  EXPECT_EQ(two.context, 16);
  EXPECT_EQ(two.divisors, (std::vector<double>{1, 1.1, 1.3, 1.5}));
  EXPECT_EQ(two.long_divisors, (std::vector<double>{1.2, 2, 5, 9}));
}

// That of `llama_dynamic` has keys that calls of other lengths turned.
TEST(RotaryLayers, AreWhatTheOracleComputes) {
  for (const char* name : {"qwen2_vl", "qwen3_vl", "phi_longrope"}) {
    const Calls calls = calls_of(name);
    EXPECT_LE(nrmse(calls.expected, oracle(calls.layer).y), kMostInDouble) << name;
  }
}

class RotaryLayersOf : public LayerTest {};

TEST_P(RotaryLayersOf, AreWhatTheModelComputes) {
  for (const char* name : {"qwen2_vl", "qwen3_vl", "llama_dynamic", "phi_longrope"}) {
    const Calls calls = calls_of(name);
    Attention attention = layer_for(calls.layer.shape, calls.layer.weights, GetParam().options());
    KeyValueCache cache(attention, {1, calls.layer.shape.tokens});
    Matrix y(calls.layer.shape.tokens, calls.layer.shape.output_width());
    const Call call{.cache = &cache, .positions = calls.layer.positions};
    std::int64_t at = 0;
    for (const std::int64_t rows : calls.rows) {
      attention.forward(calls.layer.x.view().slice(at, rows), y.view().slice(at, rows), call);
      at += rows;
    }
    const std::vector<double> found(y.values.begin(), y.values.end());
    EXPECT_LE(nrmse(calls.expected, found), kMostInFloat) << name;
  }
}

// A prompt in chunks, and its padding: each call says how long it will be.
TEST_P(RotaryLayersOf, ChunksThatSayTheWholeLengthAreOneCall) {
  for (const char* name : {"llama_dynamic", "phi_longrope"}) {
    const Layer layer = calls_of(name).layer;
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
    const std::int64_t tokens = layer.shape.tokens;
    Matrix whole(tokens, layer.shape.output_width()), y = whole;
    attention.forward(layer.x.view(), whole.view());
    const reference::Comparison right =
        reference::compare(oracle(layer), whole.view(), reference::Data::standard);
    EXPECT_TRUE(right.passed) << name << ": " << right.reason;
    KeyValueCache cache(attention, {1, tokens});
    const Call call{.cache = &cache, .context = tokens};
    attention.append(rows(layer.x, 0, 3), call);
    attention.forward(rows(layer.x, 3, 10), y.view().slice(3, 10), call);
    attention.forward(rows(layer.x, 13, tokens - 13), y.view().slice(13, tokens - 13), call);
    EXPECT_TRUE(equal_for(GetParam(), rows(y, 3, tokens - 3), rows(whole, 3, tokens - 3))) << name;
  }
}

// The longest sequence of a batch decides for all of it, as in a batch of transformers.
TEST_P(RotaryLayersOf, TheLongestOfABatchDecides) {
  for (const char* name : {"llama_dynamic", "phi_longrope"}) {
    const Layer layer = calls_of(name).layer;
    CallSizes most{.batch = 2, .tokens = layer.shape.tokens};
    Attention attention(layer.shape, most, layer.weights, GetParam().options());
    Matrix x(26, layer.shape.d_in), y(26, layer.shape.output_width());
    std::copy_n(layer.x.view().row(0), 6 * x.cols, x.values.data());
    std::copy_n(layer.x.view().row(0), 20 * x.cols, x.values.data() + 6 * x.cols);
    const std::vector<std::int64_t> lengths{6, 20}, six{6};
    attention.forward(x.view(), y.view(), {.lengths = lengths});
    EXPECT_TRUE(equal_for(GetParam(), rows(y, 0, 6), rows(y, 6, 6))) << name;
    Matrix alone(6, y.cols);
    attention.forward(rows(x, 0, 6), alone.view(), {.lengths = six});
    EXPECT_FALSE(same_bits(alone.view(), rows(y, 0, 6))) << name;
    attention.forward(rows(x, 0, 6), alone.view(), {.lengths = six, .context = 20});
    EXPECT_TRUE(equal_for(GetParam(), alone.view(), rows(y, 0, 6))) << name;
  }
}

TEST_P(RotaryLayersOf, ACacheOfShortContextsDoesNotBecomeLong) {
  const Layer layer = calls_of("phi_longrope").layer;
  Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  Matrix y(layer.shape.tokens, layer.shape.output_width());
  KeyValueCache cache(attention, {1, 22}), other(attention, {1, 22});
  const auto forward = [&](std::int64_t first, std::int64_t count, Call call = {}) {
    call.cache = &cache;
    attention.forward(rows(layer.x, first, count), y.view().slice(first, count), call);
  };
  const auto refused = [&](std::int64_t first, const std::string& word, const Call& call = {}) {
    const std::int64_t before = cache.length();
    expect_refused(word, [&] { forward(first, 1, call); });
    EXPECT_EQ(cache.length(), before);
  };
  forward(0, 16);
  refused(16, "16 tokens of sequence 0 that were turned for contexts up to 16");
  refused(16, "turned for contexts up to", {.context = 17});
  const std::vector<std::int64_t> far{99};
  cache.truncate({0, 9});
  refused(9, "turned for contexts up to", {.positions = far});
  forward(9, 1);
  const std::vector<std::int64_t> first{0};
  other.take(cache, first);
  cache.clear();
  forward(0, 17);
  cache.truncate({0, 5});
  refused(5, "5 tokens of sequence 0 that were turned for contexts above 16");
  forward(5, 1, {.context = 17});
  other.take(cache, first);
  cache.clear();
  forward(0, 4);
  cache.take(other, first);
  refused(6, "turned for contexts above");
  EXPECT_THROW(forward(6, 1, {.context = -1}), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Backends, RotaryLayersOf, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::rotary_layers_test
