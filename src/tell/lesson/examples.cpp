#include "lesson/examples.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/nearest.hpp"
#include "headroom/error.hpp"
#include "lesson/examples/builders.hpp"

namespace headroom::lesson {
namespace {

struct Listed {
  Example example;
  Lesson (*build)(const Choices&);
};

const std::vector<Listed>& ladder() {
  static const std::vector<Listed> all{
      {{"simplified", "attention without weights: dot products, softmax, context", true},
       simplified},
      {{"self-attention", "trainable weights, drawn in both ways", true, false, true},
       self_attention},
      {{"causal", "masking the future, after softmax and before it", true, false, true}, causal},
      {{"dropout", "dropping attention weights, and what scales the others", true, false, true},
       dropout},
      {{"batch", "several sentences at once", true, false, true}, batch},
      {{"wrapper", "several heads, one after the other, concatenated", true, true, true}, wrapper},
      {{"dream", "the wrapper on another sentence; corrects queries times values", false, true,
        true},
       dream_lesson},
      {{"split", "weight splits: one wide product, its columns divided into heads", true, true,
        true, true},
       split},
      {{"heads-by-hand", "two heads from given numbers; corrects rows that mix tokens"},
       heads_by_hand},
      {{"cat-sleeps", "given weights, carried through from the input to the merged rows", false,
        true},
       cat_sleeps_lesson},
      {{"kid-smiles", "Gaussian weights, step by step", false, true, true}, kid_smiles_lesson},
      {{"six-bias", "weight splits with biases; corrects a mask without effect", false, true, true},
       six_bias},
      {{"qwen3", "a layer of Qwen3: norms of query and key, and rotary positions", true, false,
        true},
       qwen3_lesson},
      {{"gemma2", "a layer of Gemma 2: a scale of its own, capped scores, a window", true, false,
        true},
       gemma2_lesson},
      {{"gpt-oss", "a layer of gpt-oss: biases, stretched positions, a window, sinks", true, false,
        true},
       gpt_oss_lesson},
      {{"deepseek", "a layer of DeepSeek: keys and values made of a latent, or left in it", true,
        false, true},
       deepseek_lesson}};
  return all;
}

std::vector<std::string> names_where(bool Example::*what) {
  std::vector<std::string> names;
  for (const Example& example : examples()) {
    if (example.*what) names.emplace_back(example.name);
  }
  return names;
}

void require(bool allowed, const char* option, const Example& example, bool Example::*what) {
  if (allowed) return;
  std::string names;
  for (const std::string& name : names_where(what)) names += (names.empty() ? "" : ", ") + name;
  throw InvalidArgument(fmt::format("{}: the example '{}' takes none; use it with one of: {}",
                                    option, example.name, names));
}

// The nearest divisors on both sides.
std::string nearest_heads(std::int64_t width, std::int64_t heads) {
  if (heads >= width) return fmt::format("{}", width);
  std::int64_t below = heads;
  while (width % below != 0) --below;
  std::int64_t above = heads;
  while (width % above != 0) ++above;
  return fmt::format("{} and {}", below, above);
}

// What the heads have to divide: the width of the layer, which is the input's unless the textbook
// takes another one. The textbook's wrapper has a width per head instead.
std::optional<std::int64_t> divided_width(const Example& example, const Choices& choices) {
  if (choices.own) return choices.own->width();
  if (example.name == "wrapper" || example.name == "dream") return {};
  return example.name == "split" ? kTextbookWidth : kNotebookWidth;
}

// All heads together: more than that is neither read nor drawn, and takes memory for nothing.
void check_pairs(const Choices& choices) {
  if (!choices.own) return;
  const std::int64_t most = most_heads(*choices.own);
  if (*choices.heads <= most) return;
  throw InvalidArgument(
      fmt::format("--heads: {} are too many to read for {} tokens; allowed are 1 "
                  "to {}",
                  *choices.heads, choices.own->x.rows, most));
}

void check_heads(const Example& example, const Choices& choices) {
  constexpr std::int64_t kMostHeads = 64;
  const std::int64_t heads = *choices.heads;
  const std::optional<std::int64_t> width = divided_width(example, choices);
  if (width && *width % heads != 0) {
    throw InvalidArgument(fmt::format("--heads: {} does not divide the width {}; nearest: {}",
                                      heads, *width, nearest_heads(*width, heads)));
  }
  if (!width && heads > kMostHeads) {
    throw InvalidArgument(
        fmt::format("--heads: {} is too many to read; allowed are 1 to {}", heads, kMostHeads));
  }
}

}  // namespace

const std::vector<Example>& examples() {
  static const std::vector<Example> all = [] {
    std::vector<Example> list;
    for (const Listed& listed : ladder()) list.push_back(listed.example);
    return list;
  }();
  return all;
}

Lesson make_lesson(std::string_view name, const Choices& choices) {
  std::vector<std::string> names;
  for (const Listed& listed : ladder()) {
    const Example& example = listed.example;
    names.emplace_back(example.name);
    if (example.name != name) continue;
    require(!choices.own || example.any_input, "--input", example, &Example::any_input);
    require(!choices.heads || example.any_heads, "--heads", example, &Example::any_heads);
    require(!choices.seed || example.drawn, "--seed", example, &Example::drawn);
    require(!choices.layer || example.any_layer, "--weights", example, &Example::any_layer);
    if (choices.heads) {
      check_heads(example, choices);
      check_pairs(choices);
    }
    Lesson lesson = listed.build(choices);
    lesson.name = name;
    return lesson;
  }
  throw InvalidArgument(fmt::format("unknown example '{}'; {}", name, suggest(name, names)));
}

}  // namespace headroom::lesson
