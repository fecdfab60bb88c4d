// Files of weights for tests, and the layer that is loaded from them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "headroom/load_weights.hpp"
#include "support/safetensors_text.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::test {

// Value `10 * row + col + start` of a matrix, exact even in bf16 while it is below 256.
inline std::vector<float> ramp(std::int64_t rows, std::int64_t cols, float start) {
  std::vector<float> values;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      values.push_back(start + static_cast<float>(10 * r + c));
    }
  }
  return values;
}

inline std::vector<float> transposed(std::int64_t rows, std::int64_t cols,
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

class Load : public TemporaryFolder {
 protected:
  void write(const std::filesystem::path& name, const SafetensorsText& text) const {
    TemporaryFolder::write(name, text.text());
  }
  void write(const std::filesystem::path& name, const std::string& text) const {
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

inline WeightsOptions with_heads(std::int64_t heads) {
  WeightsOptions options;
  options.heads = heads;
  return options;
}

// GPT-2: 4 inputs, 4 outputs each, stored in x out.
inline SafetensorsText gpt2(const std::string& prefix = "h.0.attn.") {
  SafetensorsText text;
  text.add(prefix + "c_attn.weight", {4, 12}, ramp(4, 12, 0));
  text.add(prefix + "c_attn.bias", {12}, ramp(1, 12, 100));
  text.add(prefix + "c_proj.weight", {4, 4}, ramp(4, 4, 50));
  text.add(prefix + "c_proj.bias", {4}, ramp(1, 4, 200));
  return text;
}
// Llama: 6 inputs, 4 heads of 2, 2 key heads; stored out x in.
inline SafetensorsText llama(const std::string& prefix = "model.layers.0.self_attn.") {
  SafetensorsText text;
  text.add(prefix + "q_proj.weight", {8, 6}, ramp(8, 6, 0));
  text.add(prefix + "k_proj.weight", {4, 6}, ramp(4, 6, 100));
  text.add(prefix + "v_proj.weight", {4, 6}, ramp(4, 6, 150));
  text.add(prefix + "o_proj.weight", {6, 8}, ramp(6, 8, 60));
  return text;
}

}  // namespace headroom::test
