#include "plan/models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/nearest.hpp"
#include "headroom/error.hpp"

namespace headroom::plan {
namespace {

struct Model {
  const char* name;
  std::int64_t d_model;
  std::int64_t heads;
  std::int64_t head_dim;
};

// Widths from Radford et al. 2019 (GPT-2) and Brown et al. 2020, table 2.1 (GPT-3). Two rows of
// that table are inconsistent and are read as follows:
//  - GPT-3 XL: 24 heads of 128 are 3072 wide, but the model is 2048 wide. So the heads take 2048
//    as input, and the output projection maps 3072 back to 2048.
//  - GPT-3 13B: the table says 5140, but 40 heads of 128 are 5120. We use 5120.
constexpr Model kModels[] = {
    {"gpt2", 768, 12, 64},        {"gpt2-medium", 1024, 16, 64}, {"gpt2-large", 1280, 20, 64},
    {"gpt2-xl", 1600, 25, 64},    {"gpt3-small", 768, 12, 64},   {"gpt3-medium", 1024, 16, 64},
    {"gpt3-large", 1536, 16, 96}, {"gpt3-xl", 2048, 24, 128},    {"gpt3-2.7b", 2560, 32, 80},
    {"gpt3-6.7b", 4096, 32, 128}, {"gpt3-13b", 5120, 40, 128},   {"gpt3-175b", 12288, 96, 128},
};

const std::vector<std::int64_t> kModelTokens{128, 1024};

void add_heads(std::vector<ShapeSeed>& seeds, const std::vector<std::int64_t>& tokens) {
  for (const std::int64_t heads : {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96}) {
    seeds.push_back({heads * 64, heads, 64, false, tokens});
  }
}

void add_models(std::vector<ShapeSeed>& seeds, const std::vector<std::int64_t>& tokens) {
  for (const Model& model : kModels) {
    seeds.push_back({model.d_model, model.heads, model.head_dim, true, tokens});
  }
}

void add_tokens(std::vector<ShapeSeed>& seeds) {
  seeds.push_back({768, 12, 64, true, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}});
}

// Takes about two minutes on two cores with every backend, including `naive`, so that set-up, build
// and sweep of a fresh clone take less than six. It covers GPT-2's layer with few and more tokens,
// one head to 96 heads, and the widest layer for a single token, where memory is the limit.
void add_quick(std::vector<ShapeSeed>& seeds) {
  seeds.push_back({768, 12, 64, true, {1, 128}});
  seeds.push_back({64, 1, 64, false, {64}});
  seeds.push_back({1536, 96, 16, false, {16}});
  seeds.push_back({6144, 96, 64, false, {1}});
}

void add_preset(std::vector<ShapeSeed>& seeds, std::string_view name) {
  if (name == "quick") {
    add_quick(seeds);
  } else if (name == "heads") {
    add_heads(seeds, {1, 128});
  } else if (name == "tokens") {
    add_tokens(seeds);
  } else if (name == "models") {
    add_models(seeds, kModelTokens);
  } else if (name == "full") {
    add_models(seeds, {1, 16, 128, 512, 1024, 2048});
    add_heads(seeds, {1, 16, 128, 1024});
    add_tokens(seeds);
  } else {
    throw InvalidArgument(
        fmt::format("--preset: unknown preset '{}'; {}", name, suggest(name, preset_names())));
  }
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
  static const std::vector<std::string> names{"quick", "heads", "tokens", "models", "full"};
  return names;
}

ShapeSeed model_shape(std::string_view name) {
  for (const Model& model : kModels) {
    if (name == model.name) {
      return {model.d_model, model.heads, model.head_dim, true, kModelTokens};
    }
  }
  throw InvalidArgument(
      fmt::format("--model: unknown model '{}'; {}", name, suggest(name, model_names())));
}

std::vector<ShapeSeed> preset_shapes(std::string_view names) {
  std::vector<ShapeSeed> seeds;
  for (std::size_t start = 0; start <= names.size();) {
    const std::size_t comma = std::min(names.find(',', start), names.size());
    add_preset(seeds, names.substr(start, comma - start));
    start = comma + 1;
  }
  return seeds;
}

}  // namespace headroom::plan
