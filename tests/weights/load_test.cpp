// From files to the weights of a layer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"
#include "support/safetensors_text.hpp"
#include "support/temporary_folder.hpp"
#include "weights/npy.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using test::SafetensorsText;

// Value `10 * row + col + start` of a matrix, exact even in bf16 while it is below 256.
std::vector<float> ramp(std::int64_t rows, std::int64_t cols, float start) {
  std::vector<float> values;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      values.push_back(start + static_cast<float>(10 * r + c));
    }
  }
  return values;
}

std::vector<float> transposed(std::int64_t rows, std::int64_t cols,
                              const std::vector<float>& values) {
  std::vector<float> result(values.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      result[static_cast<std::size_t>(c * rows + r)] =
          values[static_cast<std::size_t>(r * cols + c)];
    }
  }
  return result;
}

/// What was read, and its weights as floats.
struct Loaded : LayerWeights {
  explicit Loaded(const LayerWeights& read)
      : LayerWeights(read), weights(to_split(read.weights)), stored(read.weights) {}

  SplitWeights weights;
  WeightViews stored;
};

class Load : public test::TemporaryFolder {
 protected:
  void write(const fs::path& name, const SafetensorsText& text) const {
    TemporaryFolder::write(name, text.text());
  }
  void write(const fs::path& name, const std::string& text) const {
    TemporaryFolder::write(name, text);
  }
  Loaded load(const WeightsOptions& options = {}, const std::string& name = "m") const {
    return Loaded(load_weights(path_ / name, options));
  }
  template <class Error>
  std::string error_of(const WeightsOptions& options = {}, const std::string& name = "m") const {
    try {
      load(options, name);
    } catch (const Error& error) {
      return error.what();
    }
    return "no such error";
  }
  template <class Error>
  void expect_refused(const std::string& part, const WeightsOptions& options = {},
                      const std::string& name = "m") const {
    const std::string error = error_of<Error>(options, name);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  }
};

WeightsOptions with_heads(std::int64_t heads) {
  WeightsOptions options;
  options.heads = heads;
  return options;
}

// GPT-2: 4 inputs, 4 outputs each, stored in x out.
SafetensorsText gpt2(const std::string& prefix = "h.0.attn.") {
  SafetensorsText text;
  text.add(prefix + "c_attn.weight", {4, 12}, ramp(4, 12, 0));
  text.add(prefix + "c_attn.bias", {12}, ramp(1, 12, 100));
  text.add(prefix + "c_proj.weight", {4, 4}, ramp(4, 4, 50));
  text.add(prefix + "c_proj.bias", {4}, ramp(1, 4, 200));
  return text;
}

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

// Llama: 6 inputs, 4 heads of 2, 2 key heads; stored out x in.
SafetensorsText llama(const std::string& prefix = "model.layers.0.self_attn.") {
  SafetensorsText text;
  text.add(prefix + "q_proj.weight", {8, 6}, ramp(8, 6, 0));
  text.add(prefix + "k_proj.weight", {4, 6}, ramp(4, 6, 100));
  text.add(prefix + "v_proj.weight", {4, 6}, ramp(4, 6, 150));
  text.add(prefix + "o_proj.weight", {6, 8}, ramp(6, 8, 60));
  return text;
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

TEST_F(Load, TheConfigurationSaysWhatTheTensorsDoNot) {
  write("model/model.safetensors", llama());
  write("model/config.json",
        R"({"model_type": "mistral", "num_attention_heads": 4, "num_key_value_heads": 2,
            "head_dim": 2, "rope_theta": 500000.0, "sliding_window": 7})");
  const Loaded loaded = load({}, "model");
  EXPECT_EQ(loaded.config.heads, 4);
  EXPECT_EQ(loaded.config.window, 7);
  EXPECT_TRUE(loaded.config.causal);
  EXPECT_EQ(loaded.config.rotary, (Rotary{Rotary::Pairs::halves, 500000, 1}));
  EXPECT_TRUE(loaded.notes.empty()) << "nothing had to be assumed";
  // What differs from the model is done, and said.
  WeightsOptions options;
  options.causal = true;
  options.window = 3;
  options.rotary = Rotary{};
  const Loaded other = load(options, "model");
  EXPECT_EQ(other.config.window, 3);
  EXPECT_EQ(other.config.rotary.pairs, Rotary::Pairs::none);
  EXPECT_EQ(other.notes.size(), 2U);
  // What the model cannot be is refused.
  expect_refused<InvalidArgument>("--heads: 8 was given, but ", with_heads(8), "model");
  expect_refused<InvalidArgument>("says 4; leave the option out", with_heads(8), "model");
  EXPECT_EQ(load(with_heads(4), "model").config, loaded.config);
}

TEST_F(Load, RotaryPositionsOfNamedTensorsAreTheUsersToSay) {
  write("model/model.safetensors", llama());
  write("model/config.json", R"({"num_attention_heads": 4, "rope_theta": 500000.0})");
  const std::string prefix = "model.layers.0.self_attn.";
  WeightsOptions options;
  options.tensors = {{"query", prefix + "q_proj.weight"},
                     {"key", prefix + "k_proj.weight"},
                     {"value", prefix + "v_proj.weight"}};
  const Loaded silent = load(options, "model");
  EXPECT_EQ(silent.config.rotary.pairs, Rotary::Pairs::none);
  EXPECT_NE(silent.notes.back().find("no rotary positions, although "), std::string::npos);
  options.rotary = Rotary{Rotary::Pairs::neighbours};
  EXPECT_EQ(load(options, "model").config.rotary, (Rotary{Rotary::Pairs::neighbours, 500000, 1}))
      << "the pairs are the user's, the base is the model's";
  options.rotary = Rotary{Rotary::Pairs::halves, 77, 0.5};
  EXPECT_EQ(load(options, "model").config.rotary, (Rotary{Rotary::Pairs::halves, 77, 0.5}));
}

TEST_F(Load, ConfigurationsThatAreNoneAreRefused) {
  write("model/model.safetensors", llama());
  const auto expect = [&](const std::string& config, const std::string& part) {
    write("model/config.json", config);
    expect_refused<FileError>(part, {}, "model");
  };
  expect("", "it is no JSON object");
  expect("[1, 2]", "it is no JSON object");
  expect(std::string(1'000'000, '['), "it is no JSON object");
  expect(R"({"num_attention_heads": -4})", "'num_attention_heads' is not a whole number from 1");
  expect(R"({"num_attention_heads": 1e99})", "'num_attention_heads'");
  expect(R"({"num_attention_heads": "4"})", "'num_attention_heads'");
  expect(R"({"num_attention_heads": 4, "rope_theta": 0})", "'rope_theta' is not a number above 0");
  expect(R"({"num_attention_heads": 4, "rope_scaling": 3})", "'rope_scaling'");
  const auto scaling = [&](const std::string& fields, const std::string& word) {
    expect(R"({"num_attention_heads": 4, "head_dim": 8, "rope_scaling": {)" + fields + "}}", word);
  };
  const std::string pairs = "'rope_scaling.mrope_section' is not ";
  scaling(R"("mrope_section": [2, 2])", pairs + "three whole numbers");
  scaling(R"("mrope_section": [1, 1, 1])", pairs + "three whole numbers");
  scaling(R"("mrope_section": [1, 1, 2.5])", pairs + "three whole numbers");
  scaling(R"("mrope_section": 4)", pairs + "a list");
  scaling(R"("type": "dynamic", "factor": 2)", "'rope_scaling.max_position_embeddings' is not");
  scaling(R"("type": "dynamic", "factor": 0.5)", "'rope_scaling.factor' is not a number of 1");
  scaling(R"("type": "dynamic")", "'rope_scaling.factor' is not a number above 0");
  scaling(R"("type": "longrope", "original_max_position_embeddings": 1.5)", "'rope_scaling.short");
  expect(R"({"model_type": 3})", "'model_type'");
  expect("{\"a\": \"" + std::string(std::size_t{4} << 20, 'x') + "\"}", "larger than");
}

TEST_F(Load, LayersOfOneModelMayDiffer) {
  SafetensorsText text;
  for (const char* layer : {"0", "1"}) {
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      text.add(std::string(layer) + "." + name + ".weight", {4, 4}, ramp(4, 4, 0));
    }
  }
  write("model/model.safetensors", text);
  write("model/config.json",
        R"({"num_attention_heads": 2, "sliding_window": 5, "model_type": "llama",
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {"rope_theta": 1000, "rope_type": "linear", "factor": 4}})");
  WeightsOptions options;
  EXPECT_EQ(load(options, "model").config.window, 5);
  options.layer = "1";
  EXPECT_EQ(load(options, "model").config.window, 0);
  EXPECT_EQ(load(options, "model").config.rotary, (Rotary{Rotary::Pairs::halves, 1000, 0.25}));
}

TEST_F(Load, WhatTheLayerDoesNotComputeIsRefused) {
  write("model/model.safetensors", llama());
  for (const char* field :
       {R"("head_dim": 2, "rope_scaling": {"rope_type": "proportional", "factor": 8})",
        R"("rotary_dim": 8)", R"("model_type": "gpt_neo")",
        R"("position_embedding_type": "relative_key")",
        R"("scale_attn_by_inverse_layer_idx": true)", R"("scale_attn_weights": false)"}) {
    write("model/config.json", "{\"num_attention_heads\": 4, " + std::string(field) + "}");
    expect_refused<Unsupported>("which headroom does not compute", {}, "model");
  }
  write("model/config.json", R"({"num_attention_heads": 4, "hidden_size": 8,
      "partial_rotary_factor": 1.0, "clip_qkv": null, "scale_attn_weights": true, "position_embedding_type": "absolute"})");
  EXPECT_EQ(load({}, "model").config.heads, 4);
  SafetensorsText text = llama();
  text.add("model.layers.0.self_attn.q_norm.weight", {2}, {1, 1});
  write("model/model.safetensors", text);
  expect_refused<Unsupported>("the layer has model.layers.0.self_attn.q_norm.weight", {}, "model");
}

TEST_F(Load, WhatScoresAreIsReadFromTheConfiguration) {
  write("model/model.safetensors", llama());
  write("model/config.json", R"({"num_attention_heads": 4, "attn_logit_softcapping": 50.0,
      "clip_qkv": 8, "query_pre_attn_scalar": 16})");
  const LayerConfig config = load({}, "model").config;
  EXPECT_EQ(config.softcap, 50);
  EXPECT_EQ(config.clip, 8);
  EXPECT_EQ(config.scale, 0.25);
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
}  // namespace headroom
