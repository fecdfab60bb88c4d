#include "plan/shapes/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/nearest.hpp"
#include "headroom/error.hpp"

namespace headroom::plan {
namespace {

struct Model {
  const char* name;
  std::int64_t d_model;
  std::int64_t heads;
  std::int64_t head_dim;
  std::int64_t kv_heads = 0;
  std::int64_t window = 0;
  double rotary_base = 0;  // 0: no rotary positions
};

// Widths of GPT from Radford et al. 2019 (GPT-2) and Brown et al. 2020, table 2.1 (GPT-3). Two rows
// of that table are inconsistent and are read as follows:
//  - GPT-3 XL: 24 heads of 128 are 3072 wide, but the model is 2048 wide. So the heads take 2048
//    as input, and the output projection maps 3072 back to 2048.
//  - GPT-3 13B: the table says 5140, but 40 heads of 128 are 5120. We use 5120.
//
// The others have the sizes that the `config.json` of these models on huggingface.co gives:
// meta-llama/Meta-Llama-3-8B and -70B, mistralai/Mistral-7B-v0.1 (its window is gone from v0.2 on),
// Qwen/Qwen3-8B and -0.6B, google/gemma-3-4b-pt and -27b-pt. Their projections have no bias; our
// output projection always adds one, which is d_model numbers more. What our layer leaves out:
// Qwen 3 and Gemma 3 normalise queries and keys, and Gemma 3 27B divides scores by the root of 168
// instead of the head's 128. Of Gemma 3 these are the local layers, five of six.
constexpr Model kModels[] = {
    {"gpt2", 768, 12, 64},
    {"gpt2-medium", 1024, 16, 64},
    {"gpt2-large", 1280, 20, 64},
    {"gpt2-xl", 1600, 25, 64},
    {"gpt3-small", 768, 12, 64},
    {"gpt3-medium", 1024, 16, 64},
    {"gpt3-large", 1536, 16, 96},
    {"gpt3-xl", 2048, 24, 128},
    {"gpt3-2.7b", 2560, 32, 80},
    {"gpt3-6.7b", 4096, 32, 128},
    {"gpt3-13b", 5120, 40, 128},
    {"gpt3-175b", 12288, 96, 128},
    {"llama3-8b", 4096, 32, 128, 8, 0, 500'000},
    {"llama3-70b", 8192, 64, 128, 8, 0, 500'000},
    {"mistral-7b", 4096, 32, 128, 8, 4096, 10'000},
    {"qwen3-0.6b", 1024, 16, 128, 8, 0, 1'000'000},
    {"qwen3-8b", 4096, 32, 128, 8, 0, 1'000'000},
    {"gemma3-4b", 2560, 8, 256, 4, 1024, 10'000},
    {"gemma3-27b", 5376, 32, 128, 16, 1024, 10'000},
};

// The presets `models` and `full` stood for these before there were others, and a name must go on
// meaning the same cells: results are compared with older ones.
constexpr std::size_t kPresetModels = 12;

const std::vector<std::int64_t> kModelTokens{128, 1024};

void add_heads(std::vector<ShapeSeed>& seeds, const std::vector<std::int64_t>& tokens) {
  for (const std::int64_t heads : {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96}) {
    seeds.push_back({heads * 64, heads, 64, false, tokens});
  }
}

ShapeSeed seed_of(const Model& model, const std::vector<std::int64_t>& tokens) {
  ShapeSeed seed{model.d_model, model.heads, model.head_dim, true, tokens};
  seed.kv_heads = model.kv_heads;
  seed.window = model.window;
  // Checkpoints for `transformers` turn the two halves of a head against each other.
  if (model.rotary_base > 0) seed.rotary = {Rotary::Pairs::halves, model.rotary_base, 1};
  return seed;
}

void add_models(std::vector<ShapeSeed>& seeds, const std::vector<std::int64_t>& tokens) {
  for (const Model& model : std::span(kModels).first(kPresetModels)) {
    seeds.push_back(seed_of(model, tokens));
  }
}

// One token after few and after many. One head and 12 of GPT-2's width, 32 heads that share 8 key
// heads as in Llama 3 8B, and 96: weights and cache of 8 sequences of 32,768 tokens then take 13
// GB, and are skipped where they do not fit.
void add_decode(std::vector<ShapeSeed>& seeds) {
  const auto add = [&](ShapeSeed seed) {
    seed.pasts = {128, 1024, 4096, 32768};
    seed.batches = {1, 8};
    seeds.push_back(std::move(seed));
  };
  add({64, 1, 64, false, {1}});
  add({768, 12, 64, true, {1}});
  add({4096, 32, 128, true, {1}, 8});
  add({6144, 96, 64, false, {1}});
}

void add_tokens(std::vector<ShapeSeed>& seeds) {
  seeds.push_back({768, 12, 64, true, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}});
}

// Takes less than two minutes on two cores with every backend, including `naive`, so that a fresh
// clone shows a page within about four. It covers GPT-2's layer with many tokens and with one after
// as many, one head to 96 heads, and a layer of Llama 3 for a single token, where memory is the
// limit. That one has nothing before it: plain loops would take too long to fill its cache.
void add_quick(std::vector<ShapeSeed>& seeds) {
  ShapeSeed step{768, 12, 64, true, {1}};
  step.pasts = {128};
  seeds.push_back(std::move(step));
  seeds.push_back({768, 12, 64, true, {128}});
  seeds.push_back({64, 1, 64, false, {64}});
  seeds.push_back({1536, 96, 16, false, {16}});
  seeds.push_back({4096, 32, 128, false, {1}, 8});
}

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Model& model : kModels) all.emplace_back(model.name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names{"quick",  "heads",  "tokens",
                                              "models", "decode", "full"};
  return names;
}

ShapeSeed model_shape(std::string_view name) {
  for (const Model& model : kModels) {
    if (name == model.name) return seed_of(model, kModelTokens);
  }
  throw InvalidArgument(
      fmt::format("--model: unknown model '{}'; {}", name, suggest(name, model_names())));
}

std::vector<ShapeSeed> preset_shapes(std::string_view name) {
  std::vector<ShapeSeed> seeds;
  if (name == "quick") {
    add_quick(seeds);
  } else if (name == "heads") {
    add_heads(seeds, {1, 128});
  } else if (name == "tokens") {
    add_tokens(seeds);
  } else if (name == "models") {
    add_models(seeds, kModelTokens);
  } else if (name == "decode") {
    add_decode(seeds);
  } else if (name == "full") {
    add_models(seeds, {1, 16, 128, 512, 1024, 2048});
    add_heads(seeds, {1, 16, 128, 1024});
    add_tokens(seeds);
  } else {
    throw InvalidArgument(
        fmt::format("--preset: unknown preset '{}'; {}", name, suggest(name, preset_names())));
  }
  return seeds;
}

}  // namespace headroom::plan
