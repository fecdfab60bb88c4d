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
constexpr std::int64_t kHeads[] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96};

void add_heads(std::vector<ShapeSeed>& seeds, const std::vector<std::int64_t>& tokens) {
  for (const std::int64_t heads : kHeads) {
    seeds.push_back({heads * 64, heads, 64, false, tokens});
  }
}

// The same work and the same weights, cut into heads of another width.
ShapeSeed heads_of_width(std::int64_t width, std::int64_t heads,
                         const std::vector<std::int64_t>& tokens) {
  return {width, heads, width / heads, true, tokens};
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
// GB, and are skipped where they do not fit. Llama's also with nothing before it, which leaves the
// weights alone.
void add_decode(std::vector<ShapeSeed>& seeds) {
  const auto add = [&](ShapeSeed seed) {
    seed.pasts = {128, 1024, 4096, 32768};
    seed.batches = {1, 8};
    seeds.push_back(std::move(seed));
  };
  add({64, 1, 64, false, {1}});
  add({768, 12, 64, true, {1}});
  seeds.push_back({4096, 32, 128, true, {1}, 8});
  add({4096, 32, 128, true, {1}, 8});
  add({6144, 96, 64, false, {1}});
}

void add_tokens(std::vector<ShapeSeed>& seeds) {
  seeds.push_back({768, 12, 64, true, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}});
}

// The question first: what one matrix for all heads wins over one per head where nothing else
// differs. Then GPT-2's layer with many tokens, and with one after as many. Takes two minutes on
// two cores with every backend, including `naive`.
void add_quick(std::vector<ShapeSeed>& seeds) {
  for (const std::int64_t heads : {1, 12, 48, 96})
    seeds.push_back(heads_of_width(768, heads, {16}));
  seeds.push_back(heads_of_width(768, 12, {128}));
  ShapeSeed step = heads_of_width(768, 12, {1});
  step.pasts = {128};
  seeds.push_back(std::move(step));
}

// All of that question, for published runs.
void add_split(std::vector<ShapeSeed>& seeds) {
  for (const std::int64_t width : {768, 1536}) {
    for (const std::int64_t heads : kHeads) {
      seeds.push_back(heads_of_width(width, heads, {16, 128}));
    }
  }
}

struct Preset {
  const char* name;
  void (*add)(std::vector<ShapeSeed>& seeds);
};

constexpr Preset kPresets[] = {
    {"quick", add_quick},
    {"split", add_split},
    {"heads",
     [](std::vector<ShapeSeed>& seeds) {
       add_heads(seeds, {1, 128});
     }},
    {"tokens", add_tokens},
    {"models", [](std::vector<ShapeSeed>& seeds) { add_models(seeds, kModelTokens); }},
    {"decode", add_decode},
    {"full",
     [](std::vector<ShapeSeed>& seeds) {
       add_models(seeds, {1, 16, 128, 512, 1024, 2048});
       add_heads(seeds, {1, 16, 128, 1024});
       add_tokens(seeds);
     }},
};

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
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Preset& preset : kPresets) all.emplace_back(preset.name);
    return all;
  }();
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
  for (const Preset& preset : kPresets) {
    if (name == preset.name) preset.add(seeds);
  }
  if (seeds.empty()) {
    throw InvalidArgument(
        fmt::format("--preset: unknown preset '{}'; {}", name, suggest(name, preset_names())));
  }
  return seeds;
}

}  // namespace headroom::plan
