#include "weights/layer/families.hpp"

#include <algorithm>
#include <iterator>

namespace headroom::weights {
namespace {

using Norm = FamilyNorm;
using Windows = FamilyWindows;

// From modeling_*.py of transformers 5.24; tests/data/models has a layer of each kind.
constexpr Family kFamilies[] = {
    {.name = "gpt2", .causal = true, .qkv_bias = true},
    {.name = "opt", .causal = true, .qkv_bias = true},
    {.name = "llama", .causal = true, .turns = true},
    {.name = "mistral", .causal = true, .turns = true},
    {.name = "ministral", .causal = true, .turns = true},
    {.name = "mixtral", .causal = true, .turns = true},
    {.name = "qwen2", .causal = true, .turns = true, .qkv_bias = true},
    {.name = "qwen2_moe", .causal = true, .turns = true, .qkv_bias = true},
    {.name = "qwen3", .causal = true, .turns = true, .norm = Norm::heads},
    {.name = "qwen3_moe", .causal = true, .turns = true, .norm = Norm::heads},
    {.name = "qwen2_vl", .causal = true, .turns = true, .qkv_bias = true},
    {.name = "qwen2_vl_text", .causal = true, .turns = true, .qkv_bias = true},
    {.name = "qwen2_5_vl", .causal = true, .turns = true, .qkv_bias = true},
    {.name = "qwen2_5_vl_text", .causal = true, .turns = true, .qkv_bias = true},
    {.name = "qwen3_vl_text",
     .causal = true,
     .turns = true,
     .norm = Norm::heads,
     .interleaved = true},
    {.name = "qwen3_vl_moe_text",
     .causal = true,
     .turns = true,
     .norm = Norm::heads,
     .interleaved = true},
    {.name = "qwen3_next",
     .causal = true,
     .turns = true,
     .norm = Norm::heads_plus_one,
     .gate = true,
     .partial = 0.25},
    {.name = "gemma", .causal = true, .turns = true},
    {.name = "gemma2", .causal = true, .turns = true, .windows = Windows::even},
    {.name = "gemma3_text",
     .causal = true,
     .turns = true,
     .norm = Norm::heads_plus_one,
     .windows = Windows::by_pattern},
    {.name = "gpt_oss", .causal = true, .turns = true, .windows = Windows::even, .sinks = true},
    {.name = "llama4_text",
     .causal = true,
     .turns = true,
     .norm = Norm::after_rotary,
     .chunks = true,
     .no_rotary_every = 4,
     .pairs = Rotary::Pairs::neighbours},
    {.name = "phi3", .causal = true, .turns = true},
    {.name = "olmo", .causal = true, .turns = true},
    {.name = "olmo2", .causal = true, .turns = true, .norm = Norm::width},
    {.name = "olmo3", .causal = true, .turns = true, .norm = Norm::width},
    {.name = "deepseek_v2",
     .causal = true,
     .turns = true,
     .latent = true,
     .pairs = Rotary::Pairs::neighbours},
    {.name = "deepseek_v3", .causal = true, .turns = true, .latent = true},
    {.name = "kimi_k2", .causal = true, .turns = true, .latent = true},
    {.name = "glm4_moe",
     .causal = true,
     .turns = true,
     .norm = Norm::heads_if_asked,
     .partial = 0.5},
    {.name = "glm",
     .causal = true,
     .turns = true,
     .pairs = Rotary::Pairs::neighbours,
     .partial = 0.5},
    {.name = "granite", .causal = true, .turns = true},
    {.name = "starcoder2", .causal = true, .turns = true},
    {.name = "smollm3", .causal = true, .turns = true, .no_rotary_every = 4},
    {.name = "falcon", .causal = true, .turns = true},
    {.name = "bloom", .causal = true, .slopes = true, .qkv_bias = true},
    {.name = "mpt", .causal = true, .slopes = true},
    {.name = "gpt_neox", .causal = true, .turns = true, .qkv_bias = true, .partial = 0.25},
    {.name = "t5", .masks_by_name = true, .buckets = true, .scale = 1},
    {.name = "whisper", .masks_by_name = true, .qkv_bias = true},
    {.name = "modernbert", .turns = true, .windows = Windows::by_global},
    {.name = "bert", .qkv_bias = true},
    {.name = "roberta", .qkv_bias = true},
    {.name = "xlm-roberta", .qkv_bias = true},
    {.name = "camembert", .qkv_bias = true},
    {.name = "electra", .qkv_bias = true},
    {.name = "distilbert", .qkv_bias = true},
    {.name = "vit", .qkv_bias = true},
    {.name = "deit", .qkv_bias = true},
    {.name = "dinov2", .qkv_bias = true},
    {.name = "gpt_neo",
     .causal = true,
     .foreign = "scores are not divided by the root of the head's width"},
    {.name = "mpnet", .foreign = "scores get a bias that depends on the distance"},
};

}  // namespace

const Family* find_family(std::string_view name) {
  const Family* found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                     [&](const Family& known) { return known.name == name; });
  return found == std::end(kFamilies) ? nullptr : found;
}

}  // namespace headroom::weights
