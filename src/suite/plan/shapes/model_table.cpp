#include "plan/shapes/model_table.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weights/layer/rope_scaling.hpp"

namespace headroom::plan {
namespace {

using Pairs = Rotary::Pairs;
using Over = QueryKeyNorm::Over;

constexpr std::size_t kPresetModels = 12;

// Widths of GPT from Radford et al. 2019 (GPT-2) and Brown et al. 2020, table 2.1 (GPT-3). Two rows
// of that table are inconsistent and are read as follows:
//  - GPT-3 XL: 24 heads of 128 are 3072 wide, but the model is 2048 wide. So the heads take 2048
//    as input, and the output projection maps 3072 back to 2048.
//  - GPT-3 13B: the table says 5140, but 40 heads of 128 are 5120. We use 5120.
//
// The others have what the `config.json` of these models on huggingface.co gives: of most, those
// fields stand in tests/data/published.json with the names of the repositories, and a test reads
// them as it does any configuration. Where their output projections have no bias, ours adds one all
// the same, which is d_model numbers more.
constexpr Model kModels[] = {
    {.name = "gpt2", .sizes = {768, 12, 64}},
    {.name = "gpt2-medium", .sizes = {1024, 16, 64}},
    {.name = "gpt2-large", .sizes = {1280, 20, 64}},
    {.name = "gpt2-xl", .sizes = {1600, 25, 64}},
    {.name = "gpt3-small", .sizes = {768, 12, 64}},
    {.name = "gpt3-medium", .sizes = {1024, 16, 64}},
    {.name = "gpt3-large", .sizes = {1536, 16, 96}},
    {.name = "gpt3-xl", .sizes = {2048, 24, 128}},
    {.name = "gpt3-2.7b", .sizes = {2560, 32, 80}},
    {.name = "gpt3-6.7b", .sizes = {4096, 32, 128}},
    {.name = "gpt3-13b", .sizes = {5120, 40, 128}},
    {.name = "gpt3-175b", .sizes = {12288, 96, 128}},
    {.name = "llama3-8b", .sizes = {4096, 32, 128, 8}, .base = 500'000},
    {.name = "llama3-70b", .sizes = {8192, 64, 128, 8}, .base = 500'000},
    {.name = "llama3.1-8b",
     .sizes = {4096, 32, 128, 8},
     .base = 500'000,
     .stretch = Stretch::llama3_8},
    {.name = "llama3.1-70b",
     .sizes = {8192, 64, 128, 8},
     .base = 500'000,
     .stretch = Stretch::llama3_8},
    {.name = "llama3.1-405b",
     .sizes = {16384, 128, 128, 8},
     .base = 500'000,
     .stretch = Stretch::llama3_8},
    {.name = "llama3.2-1b",
     .sizes = {2048, 32, 64, 8},
     .base = 500'000,
     .stretch = Stretch::llama3_32},
    {.name = "llama3.2-3b",
     .sizes = {3072, 24, 128, 8},
     .base = 500'000,
     .stretch = Stretch::llama3_32},
    {.name = "mistral-7b",
     .sizes = {4096, 32, 128, 8},
     .window = 4096,
     .base = 10'000},  // v0.1; later none
    {.name = "mistral-nemo", .sizes = {5120, 32, 128, 8}, .base = 1'000'000},
    {.name = "mixtral-8x7b", .sizes = {4096, 32, 128, 8}, .base = 1'000'000},
    {.name = "qwen2.5-0.5b", .sizes = {896, 14, 64, 2}, .base = 1'000'000, .bias = true},
    {.name = "qwen2.5-7b", .sizes = {3584, 28, 128, 4}, .base = 1'000'000, .bias = true},
    {.name = "qwen2.5-32b", .sizes = {5120, 40, 128, 8}, .base = 1'000'000, .bias = true},
    {.name = "qwen2.5-72b", .sizes = {8192, 64, 128, 8}, .base = 1'000'000, .bias = true},
    {.name = "qwen3-0.6b", .sizes = {1024, 16, 128, 8}, .base = 1'000'000, .norm = Over::head},
    {.name = "qwen3-1.7b", .sizes = {2048, 16, 128, 8}, .base = 1'000'000, .norm = Over::head},
    {.name = "qwen3-4b", .sizes = {2560, 32, 128, 8}, .base = 1'000'000, .norm = Over::head},
    {.name = "qwen3-8b", .sizes = {4096, 32, 128, 8}, .base = 1'000'000, .norm = Over::head},
    {.name = "qwen3-14b", .sizes = {5120, 40, 128, 8}, .base = 1'000'000, .norm = Over::head},
    {.name = "qwen3-32b", .sizes = {5120, 64, 128, 8}, .base = 1'000'000, .norm = Over::head},
    {.name = "qwen3-30b-a3b", .sizes = {2048, 32, 128, 4}, .base = 1'000'000, .norm = Over::head},
    {.name = "qwen3-235b-a22b", .sizes = {4096, 64, 128, 4}, .base = 1'000'000, .norm = Over::head},
    {.name = "gemma-2b", .sizes = {2048, 8, 256, 1}, .base = 10'000},
    {.name = "gemma-7b", .sizes = {3072, 16, 256}, .base = 10'000},
    {.name = "gemma2-2b",
     .sizes = {2304, 8, 256, 4},
     .window = 4096,
     .base = 10'000,
     .softcap = 50},
    {.name = "gemma2-2b-full", .sizes = {2304, 8, 256, 4}, .base = 10'000, .softcap = 50},
    {.name = "gemma2-9b",
     .sizes = {3584, 16, 256, 8},
     .window = 4096,
     .base = 10'000,
     .softcap = 50},
    {.name = "gemma2-9b-full", .sizes = {3584, 16, 256, 8}, .base = 10'000, .softcap = 50},
    {.name = "gemma2-27b",
     .sizes = {4608, 32, 128, 16},
     .window = 4096,
     .base = 10'000,
     .scaled_by = 144,
     .softcap = 50},
    {.name = "gemma2-27b-full",
     .sizes = {4608, 32, 128, 16},
     .base = 10'000,
     .scaled_by = 144,
     .softcap = 50},
    {.name = "gemma3-1b",
     .sizes = {1152, 4, 256, 1},
     .window = 512,
     .base = 10'000,
     .norm = Over::head},
    {.name = "gemma3-1b-full", .sizes = {1152, 4, 256, 1}, .base = 1'000'000, .norm = Over::head},
    {.name = "gemma3-4b",
     .sizes = {2560, 8, 256, 4},
     .window = 1024,
     .base = 10'000,
     .norm = Over::head},
    {.name = "gemma3-4b-full",
     .sizes = {2560, 8, 256, 4},
     .base = 1'000'000,
     .stretch = Stretch::linear8,
     .norm = Over::head},
    {.name = "gemma3-12b",
     .sizes = {3840, 16, 256, 8},
     .window = 1024,
     .base = 10'000,
     .norm = Over::head},
    {.name = "gemma3-12b-full",
     .sizes = {3840, 16, 256, 8},
     .base = 1'000'000,
     .stretch = Stretch::linear8,
     .norm = Over::head},
    {.name = "gemma3-27b",
     .sizes = {5376, 32, 128, 16},
     .window = 1024,
     .base = 10'000,
     .norm = Over::head,
     .scaled_by = 168},
    {.name = "gemma3-27b-full",
     .sizes = {5376, 32, 128, 16},
     .base = 1'000'000,
     .stretch = Stretch::linear8,
     .norm = Over::head,
     .scaled_by = 168},
    {.name = "gpt-oss",
     .sizes = {2880, 64, 64, 8},
     .window = 128,
     .base = 150'000,
     .stretch = Stretch::yarn32,
     .sinks = true,
     .bias = true},  // 20b and 120b
    {.name = "gpt-oss-full",
     .sizes = {2880, 64, 64, 8},
     .base = 150'000,
     .stretch = Stretch::yarn32,
     .sinks = true,
     .bias = true},
    {.name = "llama4-scout",
     .sizes = {5120, 40, 128, 8},
     .chunk = 8192,
     .base = 500'000,
     .stretch = Stretch::llama3_16,
     .pairs = Pairs::neighbours,
     .norm = Over::head,
     .epsilon = 1e-5,
     .after_rotary = true,
     .weighted = false},
    {.name = "phi3-mini", .sizes = {3072, 32, 96}, .window = 2047, .base = 10'000},
    {.name = "phi4", .sizes = {5120, 40, 128, 10}, .base = 250'000},
    {.name = "olmo2-7b", .sizes = {4096, 32, 128}, .base = 500'000, .norm = Over::width},
    {.name = "olmo2-13b", .sizes = {5120, 40, 128}, .base = 500'000, .norm = Over::width},
    {.name = "glm-4.5",
     .sizes = {5120, 96, 128, 8},
     .base = 1'000'000,
     .part = 0.5,
     .norm = Over::head,
     .epsilon = 1e-5,
     .bias = true},
    {.name = "glm-4.5-air",
     .sizes = {4096, 96, 128, 8},
     .base = 1'000'000,
     .part = 0.5,
     .bias = true},
    {.name = "granite3.3-2b", .sizes = {2048, 32, 64, 8}, .base = 10'000'000, .scale = 0.015625},
    {.name = "granite3.3-8b", .sizes = {4096, 32, 128, 8}, .base = 10'000'000, .scale = 0.0078125},
    {.name = "smollm2-135m", .sizes = {576, 9, 64, 3}, .base = 100'000},
    {.name = "falcon-7b", .sizes = {4544, 71, 64, 1}, .base = 10'000},
    {.name = "falcon-40b", .sizes = {8192, 128, 64, 8}, .base = 10'000},
    {.name = "bert-base", .sizes = {768, 12, 64}, .bias = true, .both_sides = true},
    {.name = "bert-large", .sizes = {1024, 16, 64}, .bias = true, .both_sides = true},
    {.name = "modernbert-base",
     .sizes = {768, 12, 64},
     .window = 65,
     .base = 10'000,
     .both_sides = true},
    {.name = "modernbert-base-full", .sizes = {768, 12, 64}, .base = 160'000, .both_sides = true},
    {.name = "modernbert-large",
     .sizes = {1024, 16, 64},
     .window = 65,
     .base = 10'000,
     .both_sides = true},
    {.name = "deepseek-v2-lite",
     .sizes = {2048, 16, 192},
     .base = 10'000,
     .stretch = Stretch::yarn40,
     .pairs = Pairs::neighbours,
     .value_dim = 128,
     .latent = {.rank = 512, .shared = 64},
     .growth = 0.707},
    {.name = "deepseek-v3",
     .sizes = {7168, 128, 192},
     .base = 10'000,
     .stretch = Stretch::yarn40,
     .pairs = Pairs::neighbours,
     .value_dim = 128,
     .latent = {.rank = 512, .query_rank = 1536, .shared = 64},
     .growth = 1},
    {.name = "kimi-k2",
     .sizes = {7168, 64, 192},
     .base = 50'000,
     .stretch = Stretch::yarn32_sharp,
     .pairs = Pairs::neighbours,
     .value_dim = 128,
     .latent = {.rank = 512, .query_rank = 1536, .shared = 64},
     .growth = 1},
};

/// A scaling as a configuration would have it.
struct Scaling {
  std::string_view type;
  std::map<std::string_view, double> fields;
  double original;
  bool truncates = true;  // gpt-oss does not
};

std::optional<Scaling> scaling_of(Stretch stretch) {
  switch (stretch) {
    case Stretch::none:
      return std::nullopt;
    case Stretch::linear8:
      return Scaling{"linear", {{"factor", 8}}, 8192};
    case Stretch::llama3_16:
      return Scaling{
          "llama3", {{"factor", 16}, {"low_freq_factor", 1}, {"high_freq_factor", 1}}, 8192};
    case Stretch::llama3_8:
    case Stretch::llama3_32:
      return Scaling{"llama3",
                     {{"factor", stretch == Stretch::llama3_8 ? 8 : 32},
                      {"low_freq_factor", 1},
                      {"high_freq_factor", 4}},
                     8192};
    case Stretch::yarn32:
      return Scaling{"yarn", {{"factor", 32}, {"beta_fast", 32}, {"beta_slow", 1}}, 4096, false};
    case Stretch::yarn32_sharp:
      return Scaling{"yarn",
                     {{"factor", 32},
                      {"beta_fast", 1},
                      {"beta_slow", 1},
                      {"mscale", 1},
                      {"mscale_all_dim", 1}},
                     4096};
    case Stretch::yarn40:
      return Scaling{"yarn",
                     {{"factor", 40},
                      {"beta_fast", 32},
                      {"beta_slow", 1},
                      {"mscale", 1},
                      {"mscale_all_dim", 1}},
                     4096};
  }
  return std::nullopt;
}

void stretch(const Scaling& scaling, std::int64_t width, Rotary& rotary) {
  const weights::ScalingFields fields{
      [&](std::string_view name) -> std::optional<double> {
        const auto place = scaling.fields.find(name);
        return place == scaling.fields.end() ? std::nullopt : std::optional(place->second);
      },
      [](std::string_view) { return std::vector<double>(); },
      [&](std::string_view name) { return name == "truncate" && !scaling.truncates; },
      [](std::string_view, std::string_view) {}};
  weights::scale_rotary(scaling.type, fields, {std::nullopt, scaling.original}, width, rotary);
}

}  // namespace

std::span<const Model> all_models() { return kModels; }

std::span<const Model> preset_models() { return std::span(kModels).first(kPresetModels); }

LayerConfig rules_of(const Model& model) {
  LayerConfig rules;
  rules.causal = !model.both_sides;
  rules.qkv_bias = model.bias;
  rules.window = model.window;
  rules.chunk = model.chunk;
  rules.softcap = model.softcap;
  rules.sinks = model.sinks;
  rules.scale = model.scaled_by > 0 ? 1 / std::sqrt(model.scaled_by) : model.scale;
  rules.norm = {model.norm, model.weighted, model.after_rotary, model.epsilon};
  if (model.norm == Over::none) rules.norm = {};
  rules.value_dim = model.value_dim;
  rules.latent = model.latent;
  if (model.base == 0) return rules;
  rules.rotary.pairs = model.pairs;
  rules.rotary.base = model.base;
  const std::int64_t turned = model.latent.rank > 0 ? model.latent.shared : model.sizes.head_dim;
  const auto width = static_cast<std::int64_t>(model.part * static_cast<double>(turned));
  if (width < turned) rules.rotary.width = width;
  const auto scaling = scaling_of(model.stretch);
  if (scaling) stretch(*scaling, width, rules.rotary);
  if (scaling && model.growth > 0) {
    const double grown = weights::yarn_growth(scaling->fields.at("factor"), model.growth);
    rules.scale = grown * grown / std::sqrt(static_cast<double>(model.sizes.head_dim));
  }
  return rules;
}

}  // namespace headroom::plan
