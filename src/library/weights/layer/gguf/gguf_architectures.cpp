#include "weights/layer/gguf/gguf_architectures.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace headroom::weights {
namespace {

constexpr Rotary::Pairs kNeighbours = Rotary::Pairs::neighbours, kHalves = Rotary::Pairs::halves;
constexpr std::string_view kEpsilon = "attention.layer_norm_rms_epsilon",
                           kWindow = "attention.sliding_window", kCap = "attn_logit_softcapping";

// weights_gguf_layers_test converts and computes a layer of each kind.
constexpr GgufArchitecture kArchitectures[] = {
    {.name = "llama", .family = "llama", .pairs = kNeighbours},
    {.name = "granite", .family = "granite", .pairs = kNeighbours},
    {.name = "qwen2", .family = "qwen2", .pairs = kHalves},
    {.name = "qwen2moe", .family = "qwen2_moe", .pairs = kHalves},
    {.name = "qwen3", .family = "qwen3", .pairs = kHalves, .required = {kEpsilon}},
    {.name = "qwen3moe", .family = "qwen3_moe", .pairs = kHalves, .required = {kEpsilon}},
    {.name = "gemma", .family = "gemma", .pairs = kHalves},
    {.name = "gemma2",
     .family = "gemma2",
     .pairs = kHalves,
     .period = 2,
     .wide_blocks = 46,
     .required = {kWindow, kCap}},
    {.name = "gemma3",
     .family = "gemma3_text",
     .pairs = kHalves,
     .period = 6,
     .local_base = 10'000,
     .wide_blocks = 62,
     .required = {kWindow, kEpsilon}},
    {.name = "gpt-oss",
     .family = "gpt_oss",
     .pairs = kHalves,
     .period = 2,
     .rounds_yarn = false,
     .required = {kWindow}},
    {.name = "phi3", .family = "phi3", .pairs = kHalves},
    {.name = "olmo2", .family = "olmo2", .pairs = kHalves, .required = {kEpsilon}},
    {.name = "glm4moe", .family = "glm4_moe", .pairs = kHalves, .required = {kEpsilon}},
    {.name = "falcon", .family = "falcon", .pairs = kHalves},
    {.name = "gptneox", .family = "gpt_neox", .pairs = kHalves},
    {.name = "bloom", .family = "bloom"},
    {.name = "mpt", .family = "mpt", .required = {"attention.max_alibi_bias"}},
    {.name = "gpt2", .family = "gpt2"},
    {.name = "bert", .family = "bert"},
};

}  // namespace

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                   [&](const GgufArchitecture& architecture) { return architecture.name == name; });
  return found == std::end(kArchitectures) ? nullptr : found;
}

std::string_view gguf_architecture_words() {
  static const std::string words = [] {
    std::string text;
    for (const GgufArchitecture& each : kArchitectures) {
      text += (text.empty() ? "" : ", ") + std::string(each.name);
    }
    return text;
  }();
  return words;
}

}  // namespace headroom::weights
