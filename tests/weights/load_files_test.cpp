// Which files hold weights, which layer of them is meant, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"
#include "support/load.hpp"
#include "weights/npy.hpp"

namespace headroom::test::load_files_test {
namespace {

namespace fs = std::filesystem;

TEST_F(Load, AFolderOfArraysIsAsGood) {
  const auto save = [&](const std::string& name, const std::vector<std::int64_t>& dims,
                        const std::vector<float>& values) {
    write("arrays/h.0.attn." + name + ".npy", weights::npy_header(dims) + test::bytes_of(values));
  };
  save("c_attn.weight", {4, 12}, ramp(4, 12, 0));
  save("c_attn.bias", {12}, ramp(1, 12, 100));
  save("c_proj.weight", {4, 4}, ramp(4, 4, 50));
  save("c_proj.bias", {4}, ramp(1, 4, 200));
  write("m", gpt2());
  const Loaded arrays = load(with_heads(2), "arrays"), tensors = load(with_heads(2));
  EXPECT_EQ(arrays.config, tensors.config);
  EXPECT_EQ(arrays.weights.value.values, tensors.weights.value.values);
  EXPECT_EQ(arrays.weights.output_bias, tensors.weights.output_bias);
  write("arrays/h.0.attn.c_proj.bias.npy", "nonsense");
  expect_refused<FileError>("c_proj.bias.npy: byte 0", with_heads(2), "arrays");
}

TEST_F(Load, SeveralFilesWithAnIndexAreAsGood) {
  SafetensorsText one, two;
  one.add("h.0.attn.c_attn.weight", {4, 12}, ramp(4, 12, 0));
  one.add("h.0.attn.c_proj.bias", {4}, ramp(1, 4, 200));
  two.add("h.0.attn.c_attn.bias", {12}, ramp(1, 12, 100));
  two.add("h.0.attn.c_proj.weight", {4, 4}, ramp(4, 4, 50));
  write("split/model-1.safetensors", one);
  write("split/model-2.safetensors", two);
  write("split/model.safetensors.index.json",
        R"({"weight_map": {"h.0.attn.c_attn.weight": "model-1.safetensors",
                           "h.0.attn.c_proj.bias": "model-1.safetensors",
                           "h.0.attn.c_attn.bias": "model-2.safetensors",
                           "h.0.attn.c_proj.weight": "model-2.safetensors",
                           "other": "model-3.safetensors"}})");
  write("m", gpt2());
  const Loaded whole = load(with_heads(2));
  for (const char* name : {"split", "split/model.safetensors.index.json"}) {
    const Loaded split = load(with_heads(2), name);
    EXPECT_EQ(split.weights.query.values, whole.weights.query.values);
    EXPECT_EQ(split.weights.output_bias, whole.weights.output_bias);
    EXPECT_EQ(split.fingerprint, whole.fingerprint);
  }
  write("split/model-2.safetensors", one);
  expect_refused<FileError>("has no tensor 'h.0.attn.c_proj.weight', although the index says so",
                            with_heads(2), "split");
  fs::remove(path_ / "split/model-2.safetensors");
  expect_refused<FileError>("model-2.safetensors: No such file", with_heads(2), "split");
  write("split/model-2.safetensors", two);
  fs::remove(path_ / "split/model.safetensors.index.json");
  expect_refused<FileError>("it has 2 safetensors files and 0 indices", with_heads(2), "split");
}

// As transformers has it.
TEST_F(Load, OfSeveralFilesTheModelsIsRead) {
  write("model/model.safetensors", gpt2());
  write("model/adapter.safetensors", llama());
  const Loaded loaded = load(with_heads(2), "model");
  EXPECT_EQ(loaded.layout, "gpt2");
  EXPECT_EQ(loaded.notes.front().find("model.safetensors is read"), 0U) << loaded.notes.front();
}

TEST_F(Load, WhatHoldsNoWeightsIsRefused) {
  expect_refused<FileError>("No such file", {}, "missing");
  fs::create_directories(path_ / "empty");
  expect_refused<FileError>("neither safetensors nor GGUF nor .npy files", {}, "empty");
  write("m", SafetensorsText().add("weight", {2}, {1, 2}));
  expect_refused<FileError>("no tensor has a name of a known layout; the names begin with weight");
}

TEST_F(Load, TheLayerIsChosenByNumberOrName) {
  SafetensorsText text;
  for (const int layer : {2, 10, 1}) {
    const std::string prefix = "h." + std::to_string(layer) + ".attn.";
    text.add(prefix + "c_attn.weight", {4, 12}, ramp(4, 12, static_cast<float>(layer)));
    text.add(prefix + "c_attn.bias", {12}, ramp(1, 12, 0));
    text.add(prefix + "c_proj.weight", {4, 4}, ramp(4, 4, 0));
    text.add(prefix + "c_proj.bias", {4}, ramp(1, 4, 0));
  }
  write("m", text);
  const auto first = [&](const std::string& layer) {
    WeightsOptions options = with_heads(2);
    options.layer = layer;
    return load(options).weights.query.values[0];
  };
  EXPECT_EQ(first(""), 1) << "the lowest number";
  EXPECT_EQ(first("2"), 2);
  EXPECT_EQ(first("10"), 10);
  EXPECT_EQ(first("h.10.attn"), 10);
  for (const char* layer : {"0", "3", "h.2", "x", "-1", "1.0", "99999999999999999999"}) {
    WeightsOptions options = with_heads(2);
    options.layer = layer;
    expect_refused<InvalidArgument>("the file has h.1.attn, h.2.attn, h.10.attn", options);
  }
}

TEST_F(Load, ANumberThatFitsTwoLayersIsNotEnough) {
  SafetensorsText text;
  for (const char* prefix : {"decoder.layers.0.encoder_attn.", "decoder.layers.0.self_attn."}) {
    for (const char* name : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
      text.add(std::string(prefix) + name + ".weight", {4, 4}, ramp(4, 4, 0));
    }
  }
  write("m", text);
  expect_refused<InvalidArgument>(
      "--layer: 0 fits more than one layer; the file has decoder.layers.0.encoder_attn, "
      "decoder.layers.0.self_attn",
      with_heads(2));
  WeightsOptions options = with_heads(2);
  options.layer = "decoder.layers.0.self_attn";
  EXPECT_TRUE(load(options).config.causal);
}

TEST_F(Load, AMissingTensorIsNamedWithCandidates) {
  SafetensorsText text = gpt2();
  text.header().erase("h.0.attn.c_proj.bias");  // the last one, so that only its bytes are left
  write("m", text);
  expect_refused<FileError>("16 bytes at the end belong to no tensor", with_heads(2));
  text = SafetensorsText();
  text.add("h.0.attn.c_attn.weight", {4, 12}, ramp(4, 12, 0));
  text.add("h.0.attn.c_proj.weight", {4, 4}, ramp(4, 4, 0));
  write("m", text);
  expect_refused<FileError>(
      "there is no tensor 'h.0.attn.c_attn.bias', which the layer needs; "
      "candidates: h.0.attn.c_attn.weight",
      with_heads(2));
  text = SafetensorsText();
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    text.add("0." + std::string(name) + ".weight", {4, 4}, ramp(4, 4, 0));
  }
  write("m", text);
  expect_refused<FileError>("there is no tensor '0.o_proj.weight'", with_heads(2));
}

TEST_F(Load, ATensorOfAnotherShapeIsRefused) {
  const auto with = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    SafetensorsText text = llama();
    const std::string full = "model.layers.0.self_attn." + name;
    SafetensorsText changed;
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    for (const char* each : {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"}) {
      const std::string other = "model.layers.0.self_attn." + std::string(each);
      if (other == full) {
        changed.add(full, dims, std::vector<float>(static_cast<std::size_t>(count)));
      } else {
        const auto shape = text.header()[other]["shape"].get<std::vector<std::int64_t>>();
        changed.add(other, shape,
                    std::vector<float>(static_cast<std::size_t>(shape[0] * shape[1])));
      }
    }
    write("m", changed);
  };
  with("k_proj.weight", {4, 5});
  expect_refused<FileError>("'model.layers.0.self_attn.k_proj.weight', at byte", with_heads(4));
  expect_refused<FileError>("(4, 5) means 5 inputs and 4 outputs", with_heads(4));
  with("v_proj.weight", {6, 6});
  expect_refused<FileError>("the key has 4 outputs", with_heads(4));
  with("o_proj.weight", {6, 7});
  expect_refused<FileError>("the query has 8 outputs", with_heads(4));
  with("q_proj.weight", {48});
  expect_refused<FileError>("its shape is (48); a matrix is expected", with_heads(4));
  with("q_proj.weight", {0, 6});
  expect_refused<FileError>("its shape is (0, 6)", with_heads(4));
  SafetensorsText bias = llama();
  bias.add("model.layers.0.self_attn.q_proj.bias", {7}, ramp(1, 7, 0));
  write("m", bias);
  expect_refused<FileError>("it has 7 values; its matrix needs 8", with_heads(4));
}

TEST_F(Load, TensorsOfOtherTypesAreRefused) {
  SafetensorsText text;
  text.add("q", "I32", {2, 2}, std::string(16, '\0'));
  text.add("k", {2, 2}, ramp(2, 2, 0));
  write("m", text);
  WeightsOptions options = with_heads(1);
  options.tensors = {{"query", "q"}, {"key", "k"}, {"value", "k"}};
  expect_refused<FileError>("tensor 'q', at byte", options);
  expect_refused<FileError>("its values are I32; allowed are F32, F16, BF16 and F64", options);
}

TEST_F(Load, TensorsMayBeNamed) {
  SafetensorsText text;
  text.add("fused", {4, 12}, ramp(4, 12, 0)).add("out", {4, 4}, ramp(4, 4, 0));
  text.add("b", {12}, ramp(1, 12, 0)).add("ob", {4}, ramp(1, 4, 0));
  write("m", text);
  WeightsOptions options = with_heads(2);
  options.stored = Stored::in_out;
  options.tensors = {{"qkv", "fused"}, {"output", "out"}, {"qkv_bias", "b"}, {"output_bias", "ob"}};
  const Loaded loaded = load(options);
  EXPECT_EQ(loaded.layout, "named");
  EXPECT_EQ(loaded.weights.output.values, ramp(4, 4, 0));
  EXPECT_EQ(loaded.weights.key_bias, ramp(1, 4, 4));
  options.tensors = {{"qkv", "fused"}};
  EXPECT_EQ(load(options).config.d_proj, 0) << "not named, so there is none";
  EXPECT_EQ(load(options).config.d_out, 4);
  options.tensors = {{"qkv", "fuse"}};
  expect_refused<FileError>(
      "there is no tensor 'fuse', which the layer needs; candidates: b, fused", options);
  options.tensors = {{"querry", "fused"}};
  expect_refused<InvalidArgument>("did you mean 'query'?", options);
  for (const auto& names :
       std::vector<std::map<std::string, std::string>>{{{"query", "out"}},
                                                       {{"qkv", "fused"}, {"key", "out"}},
                                                       {{"output", "out"}},
                                                       {{"query", "out"}, {"key", "out"}}}) {
    options.tensors = names;
    expect_refused<InvalidArgument>("name either query, key and value, or qkv", options);
  }
  options.tensors = {{"qkv", "fused"}};
  options.layer = "0";
  expect_refused<InvalidArgument>("--layer: the tensors are named", options);
}

TEST_F(Load, TheOtherStorageIsSuggestedWhereItIsOne) {
  SafetensorsText text;
  text.add("0.c_attn.weight", {12, 4}, ramp(12, 4, 0)).add("0.c_attn.bias", {12}, ramp(1, 12, 0));
  text.add("0.c_proj.weight", {4, 4}, ramp(4, 4, 0)).add("0.c_proj.bias", {4}, ramp(1, 4, 0));
  write("m", text);
  expect_refused<FileError>("if it is stored the other way, give --stored", with_heads(2));
  WeightsOptions options = with_heads(2);
  options.stored = Stored::out_in;
  EXPECT_EQ(load(options).weights.key.values, transposed(4, 4, ramp(4, 4, 40)));
}

TEST_F(Load, ValuesThatAreNoNumbersAreReported) {
  SafetensorsText text;
  std::vector<float> values = ramp(4, 4, 0);
  text.add("a", {4, 4}, values);
  values[9] = std::nanf("");
  values[11] = -std::numeric_limits<float>::infinity();
  text.add("b", {4, 4}, values);
  std::vector<float> bias = ramp(1, 4, 0);
  bias[2] = std::numeric_limits<float>::infinity();
  text.add("c", {4}, bias);
  write("m", text);
  WeightsOptions options = with_heads(2);
  options.tensors = {{"query", "a"}, {"key", "b"}, {"value", "a"}, {"key_bias", "c"}};
  const Loaded loaded = load(options);
  ASSERT_EQ(loaded.warnings.size(), 2U);
  EXPECT_NE(loaded.warnings[0].find("tensor 'b': the value at (2, 1) is NaN"), std::string::npos);
  EXPECT_NE(loaded.warnings[1].find("tensor 'c': the value at (2) is infinite"), std::string::npos);
  EXPECT_TRUE(std::isnan(loaded.weights.key.view().row(1)[2])) << "it goes where it belongs";
  options.strict = true;
  expect_refused<FileError>("tensor 'b', at byte", options);
  expect_refused<FileError>("the value at (2, 1) is NaN", options);
}

TEST_F(Load, MemoryIsLimitedBeforeAnythingIsRead) {
  write("m", gpt2());
  WeightsOptions options = with_heads(2);
  options.max_bytes = 1000;
  expect_refused<ResourceError>("need 3146", options);
  options.max_bytes = std::int64_t{1} << 30;
  EXPECT_EQ(load(options).config.heads, 2);
}

TEST_F(Load, TheFingerprintIsOfTheTensorsThatAreRead) {
  write("m", gpt2());
  const std::string first = load(with_heads(2)).fingerprint;
  SafetensorsText more = gpt2();
  more.add("other", {2}, {1, 2});
  write("m", more);
  EXPECT_EQ(load(with_heads(2)).fingerprint, first) << "of another file, the same layer";
  SafetensorsText changed;
  changed.add("h.0.attn.c_attn.weight", {4, 12}, ramp(4, 12, 0));
  changed.add("h.0.attn.c_attn.bias", {12}, ramp(1, 12, 100));
  changed.add("h.0.attn.c_proj.weight", {4, 4}, ramp(4, 4, 50));
  changed.add("h.0.attn.c_proj.bias", {4}, ramp(1, 4, 201));
  write("m", changed);
  EXPECT_NE(load(with_heads(2)).fingerprint, first);
}

}  // namespace
}  // namespace headroom::test::load_files_test
