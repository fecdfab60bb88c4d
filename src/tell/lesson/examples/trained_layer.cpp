// Weight splits, with the weights of a trained layer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headroom/error.hpp"
#include "headroom/initialise.hpp"
#include "lesson/examples/builders.hpp"
#include "lesson/examples/split_steps.hpp"
#include "lesson/own_input.hpp"
#include "lesson/texts/latent_texts.hpp"
#include "lesson/texts/texts.hpp"

namespace headroom::lesson {
namespace {

constexpr std::int64_t kRandomTokens = 6;

Subject random_tokens(Case shape, std::uint32_t seed) {
  shape.batch = 1;
  shape.tokens = kRandomTokens;
  Subject subject;
  subject.x = gaussian_input(shape.rows(), shape, seed);
  subject.words = numbered_tokens(kRandomTokens);
  subject.source = fmt::format("{} random tokens, seed {}", kRandomTokens, seed);
  return subject;
}

void check(const TrainedLayer& trained, const Subject& subject) {
  const Case& shape = trained.shape;
  if (subject.width() != shape.d_in) {
    throw InvalidArgument(
        fmt::format("--input: {} has rows of {} numbers, and {} takes {}; leave --input out for "
                    "random ones",
                    subject.source, subject.width(), trained.source, shape.d_in));
  }
  if (!shape.is_latent() && shape.head_value_dim() != shape.head_dim()) {
    throw Unsupported(
        fmt::format("--weights: {} has values of another width than keys, which no lesson shows; "
                    "headroom run computes it",
                    trained.source));
  }
  const std::int64_t width = std::max({shape.d_in, shape.d_out, shape.d_proj});
  if (width > kMostWidth) {
    throw InvalidArgument(
        fmt::format("--weights: {} is {} wide; a lesson shows at most {}; headroom run takes any",
                    trained.source, width, kMostWidth));
  }
  if (shape.heads > most_heads(subject)) {
    throw InvalidArgument(
        fmt::format("--input: {} tokens are too many to read with {} heads; use fewer",
                    subject.x.rows, shape.heads));
  }
}

std::string about(const TrainedLayer& trained) {
  const Case& shape = trained.shape;
  std::string text = fmt::format("heads: {}", shape.heads);
  if (shape.key_heads() != shape.heads) {
    text += fmt::format(", which share {} key heads", shape.key_heads());
  }
  if (shape.is_latent()) text += fmt::format(", which share a latent of {}", shape.latent.rank);
  if (shape.window > 0) text += fmt::format(", window {}", shape.window);
  if (shape.rotary.pairs != Rotary::Pairs::none) {
    text += ", query and key turned to their positions";
  }
  return text + ", weights of " + trained.source;
}

}  // namespace

Lesson trained_split(const Choices& choices) {
  constexpr std::uint32_t kSeed = 1;
  const TrainedLayer& trained = *choices.layer;
  const Subject subject =
      choices.own ? *choices.own : random_tokens(trained.shape, choices.seed.value_or(kSeed));
  check(trained, subject);
  Layer layer = layer_over(subject);
  layer.shape = trained.shape;
  layer.shape.batch = subject.batch;
  layer.shape.tokens = subject.tokens();
  layer.weights = trained.weights;
  Lesson lesson = started_split(subject, "Weight splits with trained weights", about(trained));
  const LayerTrace trace(std::move(layer));
  add_split_beginning(lesson, trace,
                      trace.shape().is_latent() ? texts::kTrainedLatents : texts::kTrainedWeights);
  add_split_end(lesson, trace);
  return lesson;
}

}  // namespace headroom::lesson
