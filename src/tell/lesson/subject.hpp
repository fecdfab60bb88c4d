// What an example is told about: a sentence, or several of equal length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/case.hpp"
#include "headroom/weights.hpp"

namespace headroom::lesson {

struct Subject {
  Matrix x;  ///< `B * T x d_in`
  std::int64_t batch = 1;
  std::vector<std::string> words;  ///< T of them
  std::string source;              ///< one line for people: where it comes from

  std::int64_t tokens() const { return x.rows / batch; }
  std::int64_t width() const { return x.cols; }
};

/// "token 1" and so on, for tokens without words.
std::vector<std::string> numbered_tokens(std::int64_t count);

/// The most heads of which all pairs of these tokens can be read and drawn.
std::int64_t most_heads(const Subject& subject);

/// A layer of trained weights.
struct TrainedLayer {
  Case shape;  ///< `batch` and `tokens` are the subject's
  SplitWeights weights;
  std::string source;  ///< one line for people: file and layer
};

/// What an example is made of, where it differs from the textbook's.
struct Choices {
  std::optional<Subject> own;         ///< a user's numbers in place of the textbook's
  std::optional<TrainedLayer> layer;  ///< in place of drawn weights
  std::optional<std::int64_t> heads;  ///< at least 1; a trained layer has its own
  std::optional<std::uint32_t> seed;
};

/// The first sentence alone.
Subject first_sentence(const Subject& subject);
/// The first sentence, `count` times.
Subject repeated(const Subject& subject, std::int64_t count);

/// The inputs of the textbook's notebooks.
Subject journey();     ///< "Your journey starts with one step", 6 tokens of width 3
Subject dream();       ///< "Dream big and work for it", likewise
Subject cat_sleeps();  ///< "the cat sleeps", 3 tokens of width 6
Subject kid_smiles();  ///< the same numbers as "The Kid Smiles"
Subject three_rows();  ///< 3 tokens of width 6 without words, twice

}  // namespace headroom::lesson
