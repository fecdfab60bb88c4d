// Lessons through layers of models: each step follows from the one before it, by the definition of
// what it shows, and the last one is what the model itself computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lesson/examples.hpp"
#include "support/lesson_values.hpp"
#include "support/trained_lessons.hpp"

namespace headroom::lesson::model_rules_test {
namespace {

using test::at;
using test::Doubles;
using test::expect_equal;
using test::find_value;
using test::size_of;
using test::value_named;

/// A layer that its lesson is walked again by, with plain loops over what the steps show.
class Walk {
 public:
  Walk(const Lesson& lesson, const LayerConfig& rules)
      : lesson_(lesson),
        rules_(rules),
        tokens_(size_of(lesson, "T")),
        width_(size_of(lesson, "head_dim")),
        heads_(size_of(lesson, "H")),
        key_heads_(size_of(lesson, "H_kv")) {
    if (key_heads_ == 0) key_heads_ = heads_;
  }

  void check() {
    query_ = by_heads("query", heads_);
    key_ = by_heads("key", key_heads_);
    if (find_value(lesson_, "query after its norm") != nullptr) check_norms();
    if (find_value(lesson_, "turned query") != nullptr) check_turn();
    check_scores();
    check_context();
  }

 private:
  const Doubles& data(const std::string& name) const { return value_named(lesson_, name).data; }

  // Rows of tokens, heads side by side, head by head.
  Doubles by_heads(const std::string& name, std::int64_t heads) const {
    const Doubles& rows = data(name);
    Doubles result;
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < tokens_; ++t) {
        for (std::int64_t c = 0; c < width_; ++c) {
          result.push_back(rows[at((t * heads + h) * width_ + c)]);
        }
      }
    }
    return result;
  }

  void check_norms() {
    for (const auto& [name, values] : {std::pair("query", &query_), std::pair("key", &key_)}) {
      const Doubles& g = data(std::string("g_") + name);
      for (std::size_t row = 0; row < values->size(); row += g.size()) {
        double squares = 0;
        for (std::size_t c = 0; c < g.size(); ++c) squares += std::pow((*values)[row + c], 2);
        const double size =
            std::sqrt(squares / static_cast<double>(g.size()) + rules_.norm.epsilon);
        for (std::size_t c = 0; c < g.size(); ++c) (*values)[row + c] *= g[c] / size;
      }
      const std::string normed = std::string(name) + " after its norm";
      expect_equal(data(normed), *values, normed);
    }
  }

  void check_turn() {
    const Doubles& angles = data("angles");
    const std::int64_t pairs = value_named(lesson_, "angles").axes.back().size;
    for (const auto& [name, values] : {std::pair("query", &query_), std::pair("key", &key_)}) {
      const auto rows = static_cast<std::int64_t>(values->size()) / width_;
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < pairs; ++i) {
          const double angle = angles[at(row % tokens_ * pairs + i)];
          double& a = (*values)[at(row * width_ + i)];
          double& b = (*values)[at(row * width_ + i + pairs)];
          const double turned = a * std::cos(angle) - b * std::sin(angle);
          b = (b * std::cos(angle) + a * std::sin(angle)) * rules_.rotary.amplitude;
          a = turned * rules_.rotary.amplitude;
        }
      }
      const std::string turned = std::string("turned ") + name;
      expect_equal(data(turned), *values, turned);
    }
  }

  void check_scores() {
    Doubles scores;
    for (std::int64_t h = 0; h < heads_; ++h) {
      const std::int64_t key_head = h / (heads_ / key_heads_);
      for (std::int64_t i = 0; i < tokens_; ++i) {
        for (std::int64_t j = 0; j < tokens_; ++j) {
          double sum = 0;
          for (std::int64_t c = 0; c < width_; ++c) {
            sum += query_[at((h * tokens_ + i) * width_ + c)] *
                   key_[at((key_head * tokens_ + j) * width_ + c)];
          }
          scores.push_back(sum);
        }
      }
    }
    expect_equal(data("scores"), scores, "scores");
    if (find_value(lesson_, "scale") == nullptr) return check_plain(scores);
    change(scores, "scaled scores", [&](double score) {
      return score * (rules_.scale > 0 ? rules_.scale : 1 / std::sqrt(static_cast<double>(width_)));
    });
    if (rules_.softcap > 0) {
      change(scores, "capped scores",
             [&](double score) { return rules_.softcap * std::tanh(score / rules_.softcap); });
    }
    hide(scores, "masked scores", tokens_);
    if (rules_.window > 0) hide(scores, "scores within the window", rules_.window);
    check_softmax(scores);
  }

  // As all other lessons have it: masked before it is scaled.
  void check_plain(Doubles scores) {
    hide(scores, "masked scores", tokens_);
    change(scores, "scaled scores",
           [&](double score) { return score / std::sqrt(static_cast<double>(width_)); });
    check_softmax(scores);
  }

  void change(Doubles& scores, const std::string& name,
              const std::function<double(double)>& function) const {
    for (double& score : scores) score = function(score);
    expect_equal(data(name), scores, name);
  }

  void hide(Doubles& scores, const std::string& name, std::int64_t window) const {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(scores.size()); ++i) {
      const std::int64_t back = i / tokens_ % tokens_ - i % tokens_;
      if (back < 0 || back >= window) scores[at(i)] = -INFINITY;
    }
    expect_equal(data(name), scores, name);
  }

  void check_softmax(Doubles scores) {
    Doubles shares;
    for (std::int64_t row = 0; row < heads_ * tokens_; ++row) {
      const double sink = rules_.sinks ? std::exp(data("sinks")[at(row / tokens_)]) : 0;
      double sum = sink;
      double* first = scores.data() + row * tokens_;
      for (std::int64_t j = 0; j < tokens_; ++j) sum += first[j] = std::exp(first[j]);
      for (std::int64_t j = 0; j < tokens_; ++j) first[j] /= sum;
      shares.push_back(sink / sum);
    }
    expect_equal(data("attention weights"), scores, "attention weights");
    if (rules_.sinks) expect_equal(data("share of the sink"), shares, "share of the sink");
  }

  void check_context() const {
    const Doubles values = by_heads("value", key_heads_);
    const Doubles& weights = data("attention weights");
    Doubles context(at(tokens_ * heads_ * width_));
    for (std::int64_t h = 0; h < heads_; ++h) {
      const std::int64_t key_head = h / (heads_ / key_heads_);
      for (std::int64_t i = 0; i < tokens_ * tokens_; ++i) {
        for (std::int64_t c = 0; c < width_; ++c) {
          context[at((i / tokens_ * heads_ + h) * width_ + c)] +=
              weights[at(h * tokens_ * tokens_ + i)] *
              values[at((key_head * tokens_ + i % tokens_) * width_ + c)];
        }
      }
    }
    expect_equal(data("context"), context, "context");
  }

  const Lesson& lesson_;
  const LayerConfig& rules_;
  std::int64_t tokens_, width_, heads_, key_heads_;
  Doubles query_, key_;  // head by head
};

TEST(ModelLessons, EachStepFollowsFromTheOneBefore) {
  LayerConfig qwen3;
  LayerConfig gemma2;
  gemma2.scale = std::sqrt(2.0 / 3);
  gemma2.softcap = 1;
  gemma2.window = 3;
  LayerConfig gpt_oss;
  gpt_oss.rotary.amplitude = 0.1 * std::log(32) + 1;
  gpt_oss.window = 3;
  gpt_oss.sinks = true;
  for (const auto& [name, rules] :
       {std::pair("qwen3", qwen3), std::pair("gemma2", gemma2), std::pair("gpt-oss", gpt_oss)}) {
    SCOPED_TRACE(name);
    const Lesson lesson = make_lesson(name, {});
    EXPECT_TRUE(lesson.passed);
    Walk(lesson, rules).check();
  }
}

// Position 1 turns the first pair by one radian, and the second by what is left of it.
TEST(ModelLessons, AnglesAreThoseOfTheModels) {
  const auto angle = [](const char* name) {
    return value_named(make_lesson(name, {}), "angles").data.at(3);
  };
  EXPECT_NEAR(angle("qwen3"), 1 / 1000.0, 1e-15);
  EXPECT_NEAR(angle("gemma2"), 1 / 100.0, 1e-15);
  EXPECT_NEAR(angle("gpt-oss"), 1 / std::sqrt(150'000) / 32, 1e-15);
}

// What a feature is for can be seen in the numbers.
TEST(ModelLessons, FeaturesDoWhatTheyAreFor) {
  const Lesson gemma2 = make_lesson("gemma2", {});
  double largest = 0;
  for (const double score : value_named(gemma2, "scaled scores").data) {
    largest = std::max(largest, std::abs(score));
  }
  EXPECT_GT(largest, 0.5) << "the cap of 1 changes nothing that can be seen";
  const Lesson gpt_oss = make_lesson("gpt-oss", {});
  for (const double share : value_named(gpt_oss, "share of the sink").data) {
    EXPECT_GT(share, 0.01);
    EXPECT_LT(share, 0.99);
  }
}

// The layers of tests/data/models, walked by `--weights`.
TEST(ModelLessons, TrainedLayersEndWithTheResultOfTheirModel) {
  const auto is_shown = [](const std::string& folder) {
    return folder == "qwen3" || folder == "gemma2" || folder == "gpt_oss";
  };
  const auto check = [](const Lesson& lesson, const LayerConfig& config) {
    Walk(lesson, config).check();
  };
  EXPECT_EQ(test::walk_trained_layers(is_shown, check), 5);
}

}  // namespace
}  // namespace headroom::lesson::model_rules_test
