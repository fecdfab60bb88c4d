#include "lesson/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom::lesson {
namespace {

Subject subject(std::vector<std::string> words, std::vector<float> numbers, std::string source) {
  Subject result;
  const auto tokens = static_cast<std::int64_t>(words.size());
  result.x = Matrix(tokens, static_cast<std::int64_t>(numbers.size()) / tokens);
  result.x.values = std::move(numbers);
  result.words = std::move(words);
  result.source = std::move(source);
  return result;
}

const std::vector<float> kCounting{1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1};

}  // namespace

std::vector<std::string> numbered_tokens(std::int64_t count) {
  std::vector<std::string> words;
  for (std::int64_t t = 1; t <= count; ++t) words.push_back(fmt::format("token {}", t));
  return words;
}

std::int64_t most_heads(const Subject& subject) {
  constexpr std::int64_t kMostPairs = 1 << 20;
  return kMostPairs / (subject.x.rows * subject.tokens());
}

Subject first_sentence(const Subject& subject) {
  Subject first = subject;
  if (subject.batch > 1) {
    first.source += fmt::format(", the first of {} sequences", subject.batch);
  }
  first.batch = 1;
  first.x.rows = subject.tokens();
  first.x.values.resize(static_cast<std::size_t>(first.x.rows * first.x.cols));
  return first;
}

Subject repeated(const Subject& subject, std::int64_t count) {
  const Subject first = first_sentence(subject);
  Subject all = first;
  all.batch = count;
  all.x = Matrix(first.x.rows * count, first.x.cols);
  for (std::int64_t b = 0; b < count; ++b) {
    std::copy(first.x.values.begin(), first.x.values.end(),
              all.x.values.begin() + b * first.x.rows * first.x.cols);
  }
  return all;
}

Subject journey() {
  return subject({"Your", "journey", "starts", "with", "one", "step"},
                 {0.43F, 0.15F, 0.89F, 0.55F, 0.87F, 0.66F, 0.57F, 0.85F, 0.64F, 0.22F, 0.58F,
                  0.33F, 0.77F, 0.25F, 0.10F, 0.05F, 0.80F, 0.55F},
                 "\"Your journey starts with one step\"");
}

Subject dream() {
  return subject({"Dream", "big", "and", "work", "for", "it"},
                 {0.72F, 0.45F, 0.31F, 0.75F, 0.20F, 0.55F, 0.30F, 0.80F, 0.40F, 0.85F, 0.35F,
                  0.60F, 0.55F, 0.15F, 0.75F, 0.25F, 0.20F, 0.85F},
                 "\"Dream big and work for it\"");
}

Subject cat_sleeps() { return subject({"the", "cat", "sleeps"}, kCounting, "\"the cat sleeps\""); }

Subject kid_smiles() { return subject({"The", "Kid", "Smiles"}, kCounting, "\"The Kid Smiles\""); }

Subject three_rows() {
  return repeated(subject({"Row 1", "Row 2", "Row 3"},
                          {0.43F, 0.15F, 0.89F, 0.55F, 0.87F, 0.66F, 0.57F, 0.85F, 0.64F, 0.22F,
                           0.58F, 0.33F, 0.77F, 0.25F, 0.10F, 0.05F, 0.80F, 0.55F},
                          "three rows of six numbers"),
                  2);
}

}  // namespace headroom::lesson
