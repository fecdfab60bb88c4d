#include "plan/shapes/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/nearest.hpp"
#include "headroom/error.hpp"
#include "plan/shapes/model_table.hpp"

namespace headroom::plan {
namespace {

const std::vector<std::int64_t> kModelTokens{128, 1024};

void add_heads(std::vector<ShapeSeed>& seeds, const std::vector<std::int64_t>& tokens) {
  for (const std::int64_t heads : {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96}) {
    seeds.push_back({heads * 64, heads, 64, false, tokens});
  }
}

ShapeSeed seed_of(const Model& model, const std::vector<std::int64_t>& tokens) {
  const ModelSizes& sizes = model.sizes;
  ShapeSeed seed{sizes.d_model, sizes.heads, sizes.head_dim, true, tokens};
  seed.kv_heads = sizes.kv_heads;
  seed.rules = rules_of(model);
  return seed;
}

void add_models(std::vector<ShapeSeed>& seeds, const std::vector<std::int64_t>& tokens) {
  for (const Model& model : preset_models()) {
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
    for (const Model& model : all_models()) all.emplace_back(model.name);
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
  for (const Model& model : all_models()) {
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
