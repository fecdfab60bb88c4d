// From the tensors of every layout and type to the weights of a layer.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"
#include "support/load.hpp"
#include "weights/npy.hpp"

namespace headroom::test::load_layouts_test {
namespace {

TEST_F(Load, Gpt2IsStoredAsItIsUsed) {
  write("m", gpt2());
  const Loaded loaded = load(with_heads(2));
  const LayerConfig& config = loaded.config;
  EXPECT_EQ(config.id(), "D4_H2_bias") << "the masked, biased layer that GPT-2 has";
  EXPECT_TRUE(config.causal && config.qkv_bias);
  EXPECT_EQ(config.d_proj, 4);
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < 4; ++c) {
      const auto value = static_cast<float>(10 * r + c);
      EXPECT_EQ(loaded.weights.query.view().row(r)[c], value);
      EXPECT_EQ(loaded.weights.key.view().row(r)[c], value + 4);
      EXPECT_EQ(loaded.weights.value.view().row(r)[c], value + 8);
      EXPECT_EQ(loaded.weights.output.view().row(r)[c], value + 50);
    }
  }
  EXPECT_EQ(loaded.weights.query_bias, ramp(1, 4, 100));
  EXPECT_EQ(loaded.weights.key_bias, ramp(1, 4, 104));
  EXPECT_EQ(loaded.weights.value_bias, ramp(1, 4, 108));
  EXPECT_EQ(loaded.weights.output_bias, ramp(1, 4, 200));
  EXPECT_EQ(loaded.layout, "gpt2");
  EXPECT_EQ(loaded.layer, "h.0.attn");
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST_F(Load, GroupedHeadsAreTransposed) {
  write("m", llama());
  const Loaded loaded = load(with_heads(4));
  EXPECT_EQ(loaded.config.kv_heads, 2);
  EXPECT_EQ(loaded.config.d_in, 6);
  EXPECT_EQ(loaded.config.d_out, 8);
  EXPECT_FALSE(loaded.config.qkv_bias);
  EXPECT_EQ(loaded.weights.query.values, transposed(8, 6, ramp(8, 6, 0)));
  EXPECT_EQ(loaded.weights.key.values, transposed(4, 6, ramp(4, 6, 100)));
  EXPECT_EQ(loaded.weights.value.values, transposed(4, 6, ramp(4, 6, 150)));
  EXPECT_EQ(loaded.weights.output.values, transposed(6, 8, ramp(6, 8, 60)));
  EXPECT_EQ(loaded.weights.output_bias, std::vector<float>(6)) << "the file has none";
}

TEST_F(Load, WidthsAndOneOfHeadsAndHeadWidthSayTheRest) {
  write("m", llama());
  WeightsOptions options;
  options.head_dim = 2;
  EXPECT_EQ(load(options).config, load(with_heads(4)).config);
  expect_refused<InvalidArgument>("--heads: no file says how many heads");
  expect_refused<InvalidArgument>("3 heads of 2 are not the query's width 8", with_heads(3));
  expect_refused<InvalidArgument>("heads of 8", with_heads(1));
  options.heads = 2;
  expect_refused<InvalidArgument>("2 heads of 2 are not the query's width 8", options);
  for (const std::int64_t heads : {std::int64_t{1} << 62, std::int64_t{-4}, std::int64_t{17}}) {
    options.heads = heads;
    options.head_dim = 4;
    expect_refused<InvalidArgument>("is more than a layer can have", options);
  }
  options = with_heads(4);
  options.kv_heads = 4;
  expect_refused<InvalidArgument>("4 key heads of 2 are not the keys' width 4", options);
}

TEST_F(Load, EveryLayoutIsRecognised) {
  struct Case {
    std::string layout, query, key, value, output;
    bool causal;
  };
  const std::vector<Case> cases{
      {"llama", "q_proj", "k_proj", "v_proj", "o_proj", true},
      {"bart", "q_proj", "k_proj", "v_proj", "out_proj", true},
      {"bert", "self.query", "self.key", "self.value", "output.dense", false},
      {"vit", "attention.query", "attention.key", "attention.value", "output.dense", false},
      {"distilbert", "q_lin", "k_lin", "v_lin", "out_lin", false},
      {"meta-llama", "wq", "wk", "wv", "wo", true}};
  for (const Case& each : cases) {
    SafetensorsText text;
    const std::string prefix = "a.3.b.";
    float start = 0;
    for (const std::string& name : {each.query, each.key, each.value, each.output}) {
      text.add(prefix + name + ".weight", {4, 4}, ramp(4, 4, start += 40));
      text.add(prefix + name + ".bias", {4}, ramp(1, 4, start));
    }
    write("m", text);
    const Loaded loaded = load(with_heads(2));
    EXPECT_EQ(loaded.layout, each.layout);
    EXPECT_EQ(loaded.layer, "a.3.b");
    EXPECT_EQ(loaded.config.causal, each.causal) << each.layout;
    EXPECT_EQ(loaded.weights.query.values, transposed(4, 4, ramp(4, 4, 40))) << each.layout;
    EXPECT_EQ(loaded.weights.key_bias, ramp(1, 4, 80)) << each.layout;
    EXPECT_EQ(loaded.weights.output.values, transposed(4, 4, ramp(4, 4, 160))) << each.layout;
    EXPECT_EQ(loaded.weights.output_bias, ramp(1, 4, 160)) << each.layout;
  }
}

TEST_F(Load, AnEncoderOfTheBartLayoutHasNoMask) {
  SafetensorsText text;
  for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
    text.add("encoder.layers.0.self_attn." + std::string(name) + ".weight", {4, 4}, ramp(4, 4, 0));
  }
  write("m", text);
  const Loaded loaded = load(with_heads(2));
  EXPECT_FALSE(loaded.config.causal);
  ASSERT_EQ(loaded.notes.size(), 1U);
  EXPECT_EQ(loaded.notes[0],
            "not causal: assumed, because no config.json of a known model says so; "
            "--causal changes it");
}

TEST_F(Load, FusedOnesOfOutXInAreCutIntoRows) {
  const auto whole = ramp(12, 4, 0);
  for (const char* layout : {"torch", "phi3"}) {
    const bool torch = std::string(layout) == "torch";
    SafetensorsText text;
    text.add(torch ? "in_proj_weight" : "qkv_proj.weight", {12, 4}, whole);
    text.add(torch ? "in_proj_bias" : "qkv_proj.bias", {12}, ramp(1, 12, 0));
    text.add(torch ? "out_proj.weight" : "o_proj.weight", {4, 4}, ramp(4, 4, 0));
    write("m", text);
    const Loaded loaded = load(with_heads(2));
    EXPECT_EQ(loaded.layout, layout);
    EXPECT_EQ(loaded.config.causal, !torch);
    EXPECT_EQ(loaded.weights.query.values, transposed(4, 4, ramp(4, 4, 0)));
    EXPECT_EQ(loaded.weights.key.values, transposed(4, 4, ramp(4, 4, 40)));
    EXPECT_EQ(loaded.weights.value.values, transposed(4, 4, ramp(4, 4, 80)));
    EXPECT_EQ(loaded.weights.value_bias, ramp(1, 4, 8));
    EXPECT_EQ(loaded.layer, "") << "one module alone in its file";
  }
}

TEST_F(Load, FusedGroupedHeadsAreCutByTheirWidths) {
  SafetensorsText text;
  text.add("l.1.qkv_proj.weight", {16, 6}, ramp(16, 6, 0));
  text.add("l.1.o_proj.weight", {6, 8}, ramp(6, 8, 0));
  write("m", text);
  const Loaded loaded = load(with_heads(4));
  EXPECT_EQ(loaded.config.kv_heads, 2);
  EXPECT_EQ(loaded.weights.query.values, transposed(8, 6, ramp(8, 6, 0)));
  EXPECT_EQ(loaded.weights.key.values, transposed(4, 6, ramp(4, 6, 80)));
  EXPECT_EQ(loaded.weights.value.values, transposed(4, 6, ramp(4, 6, 120)));
}

// Bits of the values that are exact in all of them.
std::string as_bf16(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto upper = static_cast<std::uint16_t>(bits >> 16U);
    bytes.append(reinterpret_cast<const char*>(&upper), 2);
  }
  return bytes;
}

std::string as_f16(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    int exponent = 0;
    const float fraction = std::frexp(value, &exponent);
    const auto half = static_cast<std::uint16_t>(
        value == 0 ? 0 : ((exponent + 14) << 10) + static_cast<int>((2 * fraction - 1) * 1024));
    bytes.append(reinterpret_cast<const char*>(&half), 2);
  }
  return bytes;
}

TEST_F(Load, SmallTypesKeepTheirValues) {
  const std::vector<float> square = ramp(4, 4, 3), wide = ramp(4, 12, 0);
  for (const std::string dtype : {"F16", "BF16", "F64"}) {
    const auto bytes = [&](const std::vector<float>& values) {
      if (dtype == "F64") return test::bytes_of(std::vector<double>(values.begin(), values.end()));
      return dtype == "F16" ? as_f16(values) : as_bf16(values);
    };
    SafetensorsText text;
    text.add("0.c_attn.weight", dtype, {4, 12}, bytes(wide));
    text.add("0.c_attn.bias", dtype, {12}, bytes(ramp(1, 12, 0)));
    text.add("0.c_proj.weight", dtype, {4, 4}, bytes(square));
    text.add("0.c_proj.bias", dtype, {4}, bytes(ramp(1, 4, 0)));
    write("m", text);
    const Loaded loaded = load(with_heads(1));
    EXPECT_EQ(loaded.weights.output.values, square) << dtype;
    EXPECT_EQ(loaded.weights.query.view().row(3)[3], 33) << dtype;
  }
}

// Larger than what is converted at once, in both storage orders and in Fortran order.
TEST_F(Load, LargeMatricesAreReadInPieces) {
  const std::int64_t width = 1000;
  std::vector<float> values(static_cast<std::size_t>(width * width));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  SafetensorsText text;
  for (const char* name : {"q", "k", "v"}) text.add(name, {width, width}, values);
  write("m", text);
  WeightsOptions options = with_heads(10);
  options.tensors = {{"query", "q"}, {"key", "k"}, {"value", "v"}};
  EXPECT_EQ(load(options).weights.key.values, transposed(width, width, values));
  options.stored = Stored::in_out;
  EXPECT_EQ(load(options).weights.key.values, values);
  const std::string head = "{'descr': '<f4', 'fortran_order': True, 'shape': (1000, 1000)}";
  std::string npy("\x93NUMPY\1\0", 8);
  npy += static_cast<char>(head.size());
  npy += '\0';
  npy += head + test::bytes_of(values);
  for (const char* name : {"q", "k", "v"}) write("arrays/" + std::string(name) + ".npy", npy);
  EXPECT_EQ(load(options, "arrays").weights.key.values, transposed(width, width, values));
  options.stored = Stored::out_in;
  EXPECT_EQ(load(options, "arrays").weights.key.values, values);
}

// Whisper has biases for query and value and none for the key.
TEST_F(Load, AMissingBiasIsZeroWhereTheLayoutLeavesItOut) {
  SafetensorsText text = llama();
  text.add("model.layers.0.self_attn.q_proj.bias", {8}, ramp(1, 8, 1));
  text.add("model.layers.0.self_attn.v_proj.bias", {4}, ramp(1, 4, 2));
  write("m", text);
  const Loaded loaded = load(with_heads(4));
  EXPECT_TRUE(loaded.config.qkv_bias);
  EXPECT_EQ(loaded.weights.query_bias, ramp(1, 8, 1));
  EXPECT_EQ(loaded.weights.key_bias, std::vector<float>(4));
  EXPECT_EQ(loaded.weights.value_bias, ramp(1, 4, 2));
}

}  // namespace
}  // namespace headroom::test::load_layouts_test
