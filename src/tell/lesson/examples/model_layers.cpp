// Layers of models of today: small ones, with the rules of the model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headroom/initialise.hpp"
#include "lesson/examples/builders.hpp"
#include "lesson/examples/split_steps.hpp"
#include "lesson/texts/latent_texts.hpp"
#include "lesson/texts/model_texts.hpp"

namespace headroom::lesson {
namespace {

constexpr std::uint32_t kSeed = 123;
constexpr std::int64_t kHeads = 2;

struct ModelLayer {
  const char* title;
  const char* about;  // where the layer is smaller than the model's, beside its widths
  LayerConfig rules;  // all but widths and heads
  bool output_bias = false;
  bool scaled_by_width = false;  // by that of the model over its heads
  std::int64_t head_dim = 4;
};

LayerConfig turned(double base) {
  LayerConfig rules;
  rules.rotary.pairs = Rotary::Pairs::halves;
  rules.rotary.base = base;
  return rules;
}

Lesson model_lesson(const Choices& choices, const ModelLayer& model) {
  const Subject subject = choices.own ? *choices.own : journey();
  const std::uint32_t seed = choices.seed.value_or(kSeed);
  Layer layer = layer_over(subject);
  Case& shape = layer.shape;
  static_cast<LayerConfig&>(shape) = model.rules;
  shape.d_in = shape.d_proj = subject.width();
  shape.heads = kHeads;
  shape.kv_heads = shape.is_latent() ? 0 : 1;
  shape.d_out = kHeads * model.head_dim;
  if (model.scaled_by_width) {
    shape.scale = std::sqrt(static_cast<double>(shape.heads) / static_cast<double>(shape.d_in));
  }
  layer.weights = gaussian_weights(shape, seed);
  std::vector<float>& bias = layer.weights.output_bias;
  if (!model.output_bias) std::fill(bias.begin(), bias.end(), 0.0F);
  Lesson lesson =
      started_split(subject, model.title,
                    fmt::format("{} heads share one {}, {}, Gaussian weights with seed {}", kHeads,
                                shape.is_latent() ? "latent" : "key head", model.about, seed));
  const LayerTrace trace(std::move(layer));
  add_split_beginning(lesson, trace,
                      shape.is_latent() ? texts::kLatentWeights : texts::kSmallWeights);
  add_split_end(lesson, trace);
  return lesson;
}

}  // namespace

Lesson qwen3_lesson(const Choices& choices) {
  LayerConfig rules = turned(1'000'000);
  rules.norm.over = QueryKeyNorm::Over::head;
  return model_lesson(
      choices, {"A layer of Qwen3: norms and positions", "heads of 4 in place of 128", rules});
}

Lesson gemma2_lesson(const Choices& choices) {
  LayerConfig rules = turned(10'000);
  rules.softcap = 1;
  rules.window = 3;
  return model_lesson(choices, {"A layer of Gemma 2: scale, cap and window",
                                "a cap of 1 in place of 50 and a window of 3 in place of 4096",
                                rules, false, true});
}

// YaRN with the model's factor of 32: of two pairs the fast one stays, and the slow one is slowed
// down by all of it.
Lesson gpt_oss_lesson(const Choices& choices) {
  constexpr double kFactor = 32;
  LayerConfig rules = turned(150'000);
  rules.rotary.divisors = {1, kFactor};
  rules.rotary.amplitude = 1.3465735902799727;  // 0.1 ln(factor) + 1
  rules.qkv_bias = true;
  rules.window = 3;
  rules.sinks = true;
  return model_lesson(choices, {"A layer of gpt-oss: stretched positions, window and sinks",
                                "a window of 3 in place of 128", rules, true});
}

// Each width is another one, so that shapes say what they are of; as in the model, values are as
// wide as a head's own part of a key.
Lesson deepseek_lesson(const Choices& choices) {
  LayerConfig rules;
  rules.rotary.pairs = Rotary::Pairs::neighbours;
  rules.latent = {.rank = 4, .query_rank = 6, .shared = 2};
  rules.value_dim = 3;
  return model_lesson(choices,
                      {.title = "A layer of DeepSeek: keys and values made of a latent",
                       .about = "of 4 numbers in place of 512, with 2 for positions in place of 64",
                       .rules = rules,
                       .head_dim = rules.value_dim + rules.latent.shared});
}

}  // namespace headroom::lesson
