// What metadata and tensors of a GGUF file make of a layer, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/headroom.h"
#include "headroom/load_weights.hpp"
#include "support/gguf_text.hpp"
#include "support/refusals.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::gguf_config_test {
namespace {

using test::GgufKind;
using test::GgufTensor;
using test::GgufText;
using test::raw;

// Two heads of four over an input of eight, which share a key head.
void add_layer(GgufText& text, const std::string& prefix = "blk.0.",
               GgufTensor type = GgufTensor::f32) {
  const std::size_t bytes = type == GgufTensor::f32 ? 4 : 2;
  const auto zeros = [&](std::size_t count) { return std::string(count * bytes, '\0'); };
  text.add(prefix + "attn_q.weight", type, {8, 8}, zeros(64));
  text.add(prefix + "attn_k.weight", type, {4, 8}, zeros(32));
  text.add(prefix + "attn_v.weight", type, {4, 8}, zeros(32));
  text.add(prefix + "attn_output.weight", type, {8, 8}, zeros(64));
}

GgufText started(const std::string& architecture) {
  GgufText text;
  text.set("general.architecture", architecture.c_str());
  text.set(architecture + ".embedding_length", 8).set(architecture + ".attention.head_count", 2);
  return text;
}

class GgufConfig : public test::TemporaryFolder {
 protected:
  LayerWeights load(const GgufText& text, const WeightsOptions& options = {}) const {
    write("m.gguf", text.text());
    return load_weights(path_ / "m.gguf", options);
  }

  template <class Error>
  void expect_refused(const GgufText& text, const std::string& part,
                      const WeightsOptions& options = {}) const {
    test::expect_refused<Error>(part, [&] { load(text, options); });
  }

  // A layer of llama with one key more.
  template <class Error, class... Value>
  void expect_key_refused(const std::string& key, const std::string& part, Value... value) const {
    GgufText text = started("llama");
    text.set("llama." + key, value...);
    add_layer(text);
    expect_refused<Error>(text, part);
  }
};

TEST_F(GgufConfig, SaysWhatTheLayerIs) {
  GgufText text = started("llama");
  text.set("llama.rope.freq_base", 500'000.0).set("llama.rope.dimension_count", 2);
  add_layer(text);
  const LayerWeights loaded = load(text);
  EXPECT_EQ(loaded.layout, "gguf");
  EXPECT_EQ(loaded.layer, "blk.0");
  EXPECT_TRUE(loaded.notes.empty());
  EXPECT_TRUE(loaded.config.causal);
  EXPECT_EQ(loaded.config.heads, 2);
  EXPECT_EQ(loaded.config.kv_heads, 1);
  EXPECT_EQ(loaded.config.d_proj, 8);
  EXPECT_EQ(loaded.config.rotary, (Rotary{Rotary::Pairs::neighbours, 500'000, 1, 2}));
}

TEST_F(GgufConfig, TensorsStayAsTheyAreStored) {
  for (const auto& [type, dtype] :
       {std::pair(GgufTensor::f32, Dtype::f32), std::pair(GgufTensor::f16, Dtype::f16),
        std::pair(GgufTensor::bf16, Dtype::bf16)}) {
    GgufText text = started("qwen2");
    add_layer(text, "blk.0.", type);
    EXPECT_EQ(load(text).weights.query.dtype, dtype);
  }
}

// In the file a row of the query is eight values of one output.
TEST_F(GgufConfig, RowsAreOutputs) {
  GgufText text = started("qwen2");
  std::vector<float> values(32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  text.add("blk.0.attn_q.weight", {8, 8}, std::vector<float>(64));
  text.add("blk.0.attn_k.weight", {4, 8}, values);
  text.add("blk.0.attn_v.weight", {4, 8}, values);
  text.add("blk.0.attn_output.weight", {8, 8}, std::vector<float>(64));
  const SplitWeights weights = to_split(load(text).weights);
  EXPECT_EQ(weights.key.view().row(0)[1], 8);
  EXPECT_EQ(weights.key.view().row(1)[0], 1);
}

// A scale of 0.5 (0x3800 as f16) and bytes of 1 are halves; rows of 48 values are no whole blocks.
TEST_F(GgufConfig, PackedTypesBecomeFloats) {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes += std::string("\x00\x38", 2) + std::string(32, '\1');
  GgufText text;
  text.set("general.architecture", "qwen2");
  text.set("qwen2.embedding_length", 32).set("qwen2.attention.head_count", 2);
  for (const char* part : {"q", "k", "v", "output"}) {
    text.add(std::string("blk.0.attn_") + part + ".weight", GgufTensor::q8_0, {32, 32}, bytes);
  }
  const SplitWeights weights = to_split(load(text).weights);
  EXPECT_EQ(weights.key.view().row(31)[31], 0.5F);
  EXPECT_EQ(weights.output.view().row(0)[17], 0.5F);
  GgufText odd = started("qwen2");
  odd.add("blk.0.attn_q.weight", GgufTensor::q8_0, {8, 48}, std::string(408, 'x'));
  expect_refused<FileError>(odd, "shape (8, 48) is none of Q8_0, whose rows are blocks of 32");
}

TEST_F(GgufConfig, OtherPackedTypesAreRefusedByName) {
  for (const auto& [type, name] :
       {std::pair(GgufTensor::mxfp4, "MXFP4"), std::pair(GgufTensor::iq4_nl, "IQ4_NL")}) {
    GgufText text = started("llama");
    const std::string bytes(8U * (type == GgufTensor::mxfp4 ? 17 : 18), 'x');
    add_layer(text);
    text.add("blk.1.attn_q.weight", type, {8, 32}, bytes);
    text.add("blk.1.attn_k.weight", type, {8, 32}, bytes);
    text.add("blk.1.attn_v.weight", type, {8, 32}, bytes);
    text.add("blk.1.attn_output.weight", type, {8, 32}, bytes);
    WeightsOptions options;
    options.layer = "1";
    const std::string part = std::string("its values are ") + name;
    expect_refused<FileError>(text, part, options);
    expect_refused<FileError>(text, "tensor 'blk.1.attn_q.weight'", options);
    EXPECT_EQ(load(text).config.heads, 2) << "other layers can be read";
  }
}

TEST_F(GgufConfig, OtherArchitecturesAreRefusedByName) {
  GgufText text = started("mamba\x1b[2J");
  add_layer(text);
  expect_refused<Unsupported>(text, "general.architecture is 'mamba\\u001b[2J' (known are llama,");
  WeightsOptions named;
  named.heads = 2;
  for (const char* part : {"query", "key", "value"}) {
    named.tensors[part] = std::string("blk.0.attn_") + part[0] + ".weight";
  }
  const LayerWeights loaded = load(text, named);
  ASSERT_FALSE(loaded.notes.empty());
  EXPECT_NE(loaded.notes.front().find("which is left out"), std::string::npos);
  GgufText none;
  add_layer(none);
  expect_refused<FileError>(none, "key 'general.architecture' is not there as a text");
  GgufText number;
  number.set("general.architecture", 3);
  add_layer(number);
  expect_refused<FileError>(number, "key 'general.architecture' is not there as a text");
}

TEST_F(GgufConfig, KeysThatAskForMoreAreRefusedByName) {
  expect_key_refused<Unsupported>("attention.temperature_length", "temperature_length is 8192",
                                  8192);
  expect_key_refused<Unsupported>("rope.dimension_sections", "rope.dimension_sections is 3", 3);
  expect_key_refused<Unsupported>("attn_new", "llama.attn_new is true", true);
  expect_key_refused<Unsupported>("attention.max_alibi_bias", "max_alibi_bias is 8.0", 8.0);
  expect_key_refused<Unsupported>("attention.value_length", "attention.value_length is 8", 8);
  expect_key_refused<Unsupported>("rope.freq_base_swa", "rope.freq_base_swa is 100.0", 100.0);
  expect_key_refused<Unsupported>("rope.scaling.type", "rope.scaling.type is \"odd\"", "odd");
}

// As llama.cpp has it.
TEST_F(GgufConfig, AFactorAloneIsLinear) {
  GgufText text = started("llama");
  text.set("llama.rope.scaling.factor", 4.0);
  add_layer(text);
  EXPECT_EQ(load(text).config.rotary.scale, 0.25);
}

TEST_F(GgufConfig, NumbersThatAreNoneAreRefused) {
  expect_key_refused<FileError>("attention.head_count_kv", "is not a whole number from 1 to", 0);
  expect_key_refused<FileError>("attention.head_count_kv", "is not a whole number from 1 to", -1);
  expect_key_refused<FileError>("attention.head_count_kv", "is not a whole number", "one");
  expect_key_refused<FileError>("attention.head_count_kv", "a list with a value for this layer",
                                GgufKind::u32, std::vector<std::uint32_t>{});
  expect_key_refused<FileError>("attention.key_length", "is not a whole number", GgufKind::i32,
                                raw<std::int32_t>(-4));
  expect_key_refused<FileError>("rope.freq_base", "is not a number above 0", 0.0);
  expect_key_refused<FileError>("rope.freq_base", "is not a number above 0", std::nan(""));
  expect_key_refused<FileError>("rope.freq_base", "is not a number above 0", INFINITY);
  expect_key_refused<FileError>("rope.freq_base", "is not a number above 0", true);
  expect_key_refused<FileError>("rope.dimension_count", "from 2 to the 4 values of a head", 5);
  expect_key_refused<FileError>("attention.causal", "is not a truth value", 1);
  expect_key_refused<FileError>("rope.scaling.type", "'llama.rope.scaling.factor' is not there",
                                "linear");
  expect_key_refused<InvalidArgument>("attention.key_length", "3 are not the query's width", 3);
  expect_key_refused<FileError>("attention.sliding_window", "a whole number from 0", "wide");
}

// A list has a value for each layer.
TEST_F(GgufConfig, ListsAreByLayer) {
  GgufText text;
  text.set("general.architecture", "llama").set("llama.embedding_length", 8);
  text.set("llama.attention.head_count", GgufKind::u32, std::vector<std::uint32_t>{8, 4, 2});
  add_layer(text, "blk.2.");
  EXPECT_EQ(load(text).config.heads, 2);
}

TEST_F(GgufConfig, LayersHaveTheWindowsOfTheirPattern) {
  const auto window_of = [&](const char* architecture, int layer, auto... pattern) {
    GgufText text = started(architecture);
    const std::string name = std::string(architecture) + ".attention.";
    text.set(name + "sliding_window", 16).set(name + "layer_norm_rms_epsilon", 1e-6);
    text.set(std::string(architecture) + ".attn_logit_softcapping", 50.0);
    if constexpr (sizeof...(pattern) > 0) text.set(name + "sliding_window_pattern", pattern...);
    add_layer(text, "blk." + std::to_string(layer) + ".");
    return load(text).config.window;
  };
  EXPECT_EQ(window_of("gemma2", 4), 16);
  EXPECT_EQ(window_of("gemma2", 5), 0);
  EXPECT_EQ(window_of("llama", 5), 16);
  EXPECT_EQ(window_of("gemma2", 5, 3), 0);
  EXPECT_EQ(window_of("gemma2", 4, 3), 16);
  EXPECT_EQ(window_of("gemma2", 3, 1), 0);
  const std::vector<std::uint8_t> flags{0, 1};
  EXPECT_EQ(window_of("gemma2", 0, GgufKind::truth, flags), 0);
  EXPECT_EQ(window_of("gemma2", 1, GgufKind::truth, flags), 16);
}

// The one size of Gemma 2 whose scores are not scaled by the width of a head.
TEST_F(GgufConfig, TheWidestGemmaScalesByItsWidth) {
  const auto scale_of = [&](int layers) {
    GgufText text = started("gemma2");
    text.set("gemma2.block_count", layers).set("gemma2.attention.sliding_window", 16);
    text.set("gemma2.attn_logit_softcapping", 50.0).set("gemma2.attention.key_length", 2);
    text.add("blk.0.attn_q.weight", {4, 8}, std::vector<float>(32));
    text.add("blk.0.attn_k.weight", {4, 8}, std::vector<float>(32));
    text.add("blk.0.attn_v.weight", {4, 8}, std::vector<float>(32));
    text.add("blk.0.attn_output.weight", {8, 4}, std::vector<float>(32));
    return load(text).config.score_scale();
  };
  EXPECT_DOUBLE_EQ(scale_of(46), 0.5);
  EXPECT_DOUBLE_EQ(scale_of(42), 1 / std::sqrt(2));
}

TEST_F(GgufConfig, WhatIsNeededIsAskedFor) {
  GgufText gemma = started("gemma2");
  gemma.set("gemma2.attention.sliding_window", 16);
  add_layer(gemma);
  expect_refused<FileError>(gemma, "'gemma2.attn_logit_softcapping' is not there");
  GgufText heads;
  heads.set("general.architecture", "llama");
  add_layer(heads);
  expect_refused<InvalidArgument>(heads, "--heads: no file says how many heads");
  GgufText norms = started("qwen3");
  norms.set("qwen3.attention.layer_norm_rms_epsilon", 1e-6);
  add_layer(norms);
  expect_refused<FileError>(norms, "there is no tensor 'blk.0.attn_q_norm.weight'");
  GgufText value = started("llama");
  value.add("blk.0.attn_q.weight", {8, 8}, std::vector<float>(64));
  value.add("blk.0.attn_k.weight", {4, 8}, std::vector<float>(32));
  expect_refused<FileError>(value, "there is no tensor 'blk.0.attn_v.weight'");
}

TEST_F(GgufConfig, TensorsThatMakeAnotherLayerAreRefused) {
  for (const char* name : {"attn_q_norm.weight", "attn_sinks.weight", "attn_q.scale",
                           "attn_sub_norm.weight", "attn_gate.weight"}) {
    GgufText text = started("llama");
    add_layer(text);
    text.add(std::string("blk.0.") + name, {4}, {1, 1, 1, 1});
    expect_refused<Unsupported>(text, std::string("the layer has blk.0.") + name);
  }
  GgufText beside = started("llama");
  add_layer(beside);
  beside.add("blk.0.attn_norm.weight", {1}, {1}).add("blk.0.attn_output_norm.bias", {1}, {1});
  EXPECT_EQ(load(beside).config.heads, 2);
}

TEST_F(GgufConfig, FactorsAreDivisorsOfTheirPairs) {
  const auto layer = [&](std::vector<float> factors, auto... scaling) {
    GgufText text = started("llama");
    if constexpr (sizeof...(scaling) > 0) {
      text.set("llama.rope.scaling.type", scaling...).set("llama.rope.scaling.factor", 4.0);
      text.set("llama.rope.scaling.original_context_length", 64);
    }
    add_layer(text);
    const auto count = static_cast<std::int64_t>(factors.size());
    text.add("rope_freqs.weight", {count}, factors);
    return text;
  };
  EXPECT_EQ(load(layer({1, 8})).config.rotary.divisors, (std::vector<double>{1, 8}));
  expect_refused<InvalidArgument>(layer({1, 8, 3}), "divisors");
  expect_refused<FileError>(layer({1, 0}), "tensor 'rope_freqs.weight'");
  expect_refused<FileError>(layer({1, NAN}), "one of its values is not above 0");
  expect_refused<FileError>(layer({}), "a list of numbers is expected");
  expect_refused<Unsupported>(layer({1, 8}, "yarn"), "is given beside rope.scaling.type");
}

TEST_F(GgufConfig, AHeadThatOnlyClaimsToBeWideHasNoDivisors) {
  GgufText text = started("llama");
  text.set("llama.rope.scaling.type", "yarn").set("llama.rope.scaling.factor", 4.0);
  text.set("llama.rope.scaling.original_context_length", 64);
  text.set("llama.attention.key_length", 1 << 30);
  text.set("llama.rope.dimension_count", 1 << 30);
  add_layer(text);
  expect_refused<FileError>(text, "at most 65536 where rope_scaling has divisors");
}

TEST_F(GgufConfig, TheFileIsItsOwnConfiguration) {
  GgufText text = started("llama");
  add_layer(text);
  write("config.json", R"({"model_type": "qwen3", "num_attention_heads": 1})");
  EXPECT_EQ(load(text).config.heads, 2) << "what lies beside it is not looked at";
  WeightsOptions options;
  options.config = path_ / "config.json";
  expect_refused<InvalidArgument>(text, "--config: ", options);
  GgufText far = started("llama");
  add_layer(far, "blk.10000.");
  expect_refused<FileError>(far, "it has a layer 10000; allowed are numbers below 10000");
}

TEST_F(GgufConfig, AFolderMayHoldOneFile) {
  GgufText text = started("llama");
  add_layer(text);
  write("one/m.gguf", text.text());
  EXPECT_EQ(load_weights(path_ / "one").config.heads, 2);
  write("two/a.gguf", text.text());
  write("two/b.gguf", text.text());
  try {
    load_weights(path_ / "two");
    ADD_FAILURE() << "accepted two files";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("it has 2 GGUF files; name one of them, such as a"),
              std::string::npos)
        << error.what();
  }
  GgufText part = started("llama");
  part.set("split.count", GgufKind::u16, raw<std::uint16_t>(3));
  add_layer(part);
  expect_refused<FileError>(part, "it is one of 3 parts");
}

// Nothing of the name matters.
TEST_F(GgufConfig, CReadsTheSame) {
  GgufText text = started("llama");
  add_layer(text);
  write("model.bin", text.text());
  headroom_stored* stored = nullptr;
  EXPECT_EQ(headroom_load((path_ / "model.bin").c_str(), nullptr, &stored), HEADROOM_OK)
      << headroom_error_text();
  headroom_stored_destroy(stored);
}

}  // namespace
}  // namespace headroom::gguf_config_test
