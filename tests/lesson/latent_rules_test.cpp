// Lessons through layers of latents: each step follows from the one before it, and the last one is
// what the model computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lesson/examples.hpp"
#include "support/lesson_values.hpp"
#include "support/trained_lessons.hpp"

namespace headroom::lesson::latent_rules_test {
namespace {

using test::at;
using test::columns;
using test::Doubles;
using test::expect_equal;
using test::find_value;
using test::product;
using test::size_of;
using test::transposed;
using test::value_named;

class Walk {
 public:
  Walk(const Lesson& lesson, const LayerConfig& rules)
      : lesson_(lesson),
        rules_(rules),
        tokens_(size_of(lesson, "T")),
        heads_(size_of(lesson, "H")),
        rank_(size_of(lesson, "rank")),
        shared_(size_of(lesson, "shared")),
        own_(size_of(lesson, "own_dim")),
        value_dim_(size_of(lesson, "value_dim")),
        head_dim_(own_ + shared_) {}

  void check() const {
    ASSERT_EQ(size_of(lesson_, "head_dim"), head_dim_);
    check_latents();
    check_queries();
    check_heads();
    check_turn();
    check_weights();
    check_result();
    check_absorbed();
  }

 private:
  const Doubles& data(const std::string& name) const { return value_named(lesson_, name).data; }

  /// A head's block of a value that has an axis of heads outside of the others.
  Doubles head(const std::string& name, std::int64_t h) const {
    const Doubles& all = data(name);
    const auto size = static_cast<std::int64_t>(all.size()) / heads_;
    return {all.begin() + h * size, all.begin() + (h + 1) * size};
  }

  Doubles by_heads(const Doubles& rows, std::int64_t inner, const std::string& weights,
                   std::int64_t cols) const {
    Doubles all;
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Doubles one = product(rows, head(weights, h), inner, cols);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  void check_norm(const std::string& name, const std::string& weights) const {
    const Doubles& g = data(weights);
    Doubles rows = data(name);
    for (std::size_t row = 0; row < rows.size(); row += g.size()) {
      double squares = 0;
      for (std::size_t c = 0; c < g.size(); ++c) squares += rows[row + c] * rows[row + c];
      const double size =
          std::sqrt(squares / static_cast<double>(g.size()) + rules_.latent.epsilon);
      for (std::size_t c = 0; c < g.size(); ++c) rows[row + c] *= g[c] / size;
    }
    expect_equal(data(name + " after its norm"), rows, name + " after its norm");
  }

  void check_latents() const {
    const std::int64_t width = rank_ + shared_, d_in = size_of(lesson_, "d_in");
    const Doubles down = product(data("x"), data("W_latent"), d_in, width);
    expect_equal(data("latent"), columns(down, width, 0, rank_), "latent");
    expect_equal(data("shared key"), columns(down, width, rank_, shared_), "shared key");
    check_norm("latent", "g_latent");
  }

  void check_queries() const {
    const std::int64_t d_in = size_of(lesson_, "d_in"), rank = rules_.latent.query_rank;
    EXPECT_EQ(size_of(lesson_, "query_rank"), rank);
    if (rank > 0) {
      expect_equal(data("query latent"), product(data("x"), data("W_query_latent"), d_in, rank),
                   "query latent");
      check_norm("query latent", "g_query_latent");
    }
    const Doubles& from = data(rank > 0 ? "query latent after its norm" : "x");
    expect_equal(data("query"), by_heads(from, rank > 0 ? rank : d_in, "W_query", head_dim_),
                 "query");
  }

  void check_heads() const {
    const Doubles& latent = data("latent after its norm");
    expect_equal(data("own key"), by_heads(latent, rank_, "W_key", own_), "own key");
    expect_equal(data("value"), by_heads(latent, rank_, "W_value", value_dim_), "value");
  }

  double angle(std::int64_t token, std::int64_t pair) const {
    const double part = 2 * static_cast<double>(pair) / static_cast<double>(shared_);
    const auto& divisors = rules_.rotary.divisors;
    return static_cast<double>(token) * std::pow(rules_.rotary.base, -part) /
           (divisors.empty() ? 1 : divisors[at(pair)]);
  }

  // The last values of rows of that width, of one token after the other.
  Doubles turned(Doubles rows, std::int64_t width) const {
    const bool halves = rules_.rotary.pairs == Rotary::Pairs::halves;
    for (std::int64_t r = 0; r < static_cast<std::int64_t>(rows.size()) / width; ++r) {
      double* last = rows.data() + (r + 1) * width - shared_;
      for (std::int64_t i = 0; i < shared_ / 2; ++i) {
        double& a = last[halves ? i : 2 * i];
        double& b = last[halves ? i + shared_ / 2 : 2 * i + 1];
        const double by = angle(r % tokens_, i), old = a;
        a = (old * std::cos(by) - b * std::sin(by)) * rules_.rotary.amplitude;
        b = (old * std::sin(by) + b * std::cos(by)) * rules_.rotary.amplitude;
      }
    }
    return rows;
  }

  void check_turn() const {
    Doubles angles;
    for (std::int64_t i = 0; i < tokens_ * (shared_ / 2); ++i) {
      angles.push_back(angle(i / (shared_ / 2), i % (shared_ / 2)));
    }
    expect_equal(data("angles"), angles, "angles");
    expect_equal(data("turned query"), turned(data("query"), head_dim_), "turned query");
    const Doubles shared = turned(data("shared key"), shared_);
    expect_equal(data("turned shared key"), shared, "turned shared key");
    Doubles keys;
    for (std::int64_t row = 0; row < heads_ * tokens_; ++row) {
      const auto own = data("own key").begin() + row * own_;
      const auto last = shared.begin() + row % tokens_ * shared_;
      keys.insert(keys.end(), own, own + own_);
      keys.insert(keys.end(), last, last + shared_);
    }
    expect_equal(data("key"), keys, "key");
  }

  void check_weights() const {
    Doubles scores;
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Doubles one = product(head("turned query", h), transposed(head("key", h), head_dim_),
                                  head_dim_, tokens_);
      scores.insert(scores.end(), one.begin(), one.end());
    }
    expect_equal(data("scores"), scores, "scores");
    const double scale =
        rules_.scale > 0 ? rules_.scale : 1 / std::sqrt(static_cast<double>(head_dim_));
    for (std::int64_t row = 0; row < heads_ * tokens_; ++row) {
      double* first = scores.data() + row * tokens_;
      double sum = 0;
      for (std::int64_t j = 0; j < tokens_; ++j) {
        first[j] = j > row % tokens_ ? 0 : std::exp(scale * first[j]);
        sum += first[j];
      }
      for (std::int64_t j = 0; j < tokens_; ++j) first[j] /= sum;
    }
    expect_equal(data("attention weights"), scores, "attention weights");
  }

  void check_result() const {
    const std::int64_t width = heads_ * value_dim_;
    Doubles merged(at(tokens_ * width));
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Doubles one =
          product(head("attention weights", h), head("value", h), tokens_, value_dim_);
      for (std::int64_t i = 0; i < tokens_ * value_dim_; ++i) {
        merged[at(i / value_dim_ * width + h * value_dim_ + i % value_dim_)] = one[at(i)];
      }
    }
    expect_equal(data("context"), merged, "context");
    const Doubles& bias = data("b_out");
    Doubles y = product(merged, data("W_out"), width, static_cast<std::int64_t>(bias.size()));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
    expect_equal(data("y"), y, "y");
  }

  void check_absorbed() const {
    const Doubles& latent = data("latent after its norm");
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Doubles queries = columns(head("turned query", h), head_dim_, 0, own_);
      const Doubles q(queries.end() - own_, queries.end());
      const Doubles absorbed = product(q, transposed(head("W_key", h), own_), own_, rank_);
      expect_equal(head("q W_key^T", h), absorbed, "q W_key^T");
      const auto scores = [&](const char* name) { return columns(data(name), heads_, h, 1); };
      expect_equal(scores("q (latent W_key)^T"),
                   product(q, transposed(head("own key", h), own_), own_, tokens_), "of keys");
      expect_equal(scores("(q W_key^T) latent^T"),
                   product(absorbed, transposed(latent, rank_), rank_, tokens_), "of latents");
      expect_equal(scores("(q W_key^T) latent^T"), scores("q (latent W_key)^T"), "both scores");
      const Doubles weights = head("attention weights", h);
      const Doubles sum = product({weights.end() - tokens_, weights.end()}, latent, tokens_, rank_);
      expect_equal(head("weights latent", h), sum, "weights latent");
      expect_equal(head("(weights latent) W_value", h),
                   product(sum, head("W_value", h), rank_, value_dim_), "context of latents");
    }
    const Doubles& all = data("context");
    expect_equal(data("weights (latent W_value)"), {all.end() - heads_ * value_dim_, all.end()},
                 "context of values");
    expect_equal(data("(weights latent) W_value"), data("weights (latent W_value)"), "contexts");
  }

  const Lesson& lesson_;
  const LayerConfig& rules_;
  std::int64_t tokens_, heads_, rank_, shared_, own_, value_dim_, head_dim_;
};

LayerConfig rules_of_lesson() {
  LayerConfig rules;
  rules.rotary.pairs = Rotary::Pairs::neighbours;
  rules.latent.query_rank = 6;
  return rules;
}

TEST(LatentLesson, EachStepFollowsFromTheOneBefore) {
  const Lesson lesson = make_lesson("deepseek", {});
  EXPECT_TRUE(lesson.passed);
  Walk(lesson, rules_of_lesson()).check();
}

const Table& table_of(const Lesson& lesson, const std::string& caption) {
  for (const Step& step : lesson.steps) {
    if (step.table && step.table->caption == caption) return *step.table;
  }
  throw std::runtime_error("no table " + caption);
}

TEST(LatentLesson, CountsWhatIsKeptAndMultiplied) {
  const Lesson lesson = make_lesson("deepseek", {});
  using Rows = std::vector<std::vector<std::string>>;
  EXPECT_EQ(table_of(lesson, "Numbers that a cache keeps of a token").rows,
            (Rows{{"latent and shared key", "4 + 2 = 6", "512 + 64 = 576"},
                  {"keys and values of all heads", "2 x (5 + 3) = 16", "128 x (192 + 128) = 40960"},
                  {"times less", "2.7", "71.1"}}));
  EXPECT_EQ(table_of(lesson, "Multiply-adds of a step's attention").rows,
            (Rows{{"expanded", "384", "137774497792"},
                  {"absorbed", "168", "1157627904"},
                  {"times less", "2.3", "119.0"}}));
}

// The two orders are shown for the first sequence; other sequences do not move it.
TEST(LatentLesson, ABatchShowsItsFirstSequenceInBothOrders) {
  Choices choices;
  choices.own = repeated(journey(), 2);
  std::vector<float>& numbers = choices.own->x.values;
  for (std::size_t i = numbers.size() / 2; i < numbers.size(); ++i) numbers[i] *= -1;
  const Lesson both = make_lesson("deepseek", choices);
  const Lesson one = make_lesson("deepseek", {});
  EXPECT_TRUE(both.passed);
  for (const char* name : {"q W_key^T", "q (latent W_key)^T", "(q W_key^T) latent^T",
                           "weights (latent W_value)", "(weights latent) W_value"}) {
    expect_equal(value_named(both, name).data, value_named(one, name).data, name);
  }
  EXPECT_EQ(value_named(both, "latent").axes.front().size, 2);
}

// The layers of tests/data/models, walked by `--weights`.
TEST(LatentLesson, TrainedLayersEndWithTheResultOfTheirModel) {
  const auto is_latent = [](const std::string& folder) { return folder.starts_with("deepseek"); };
  const auto check = [](const Lesson& lesson, const LayerConfig& config) {
    EXPECT_TRUE(lesson.passed);
    EXPECT_NE(lesson.about.find("share a latent of 16"), std::string::npos) << lesson.about;
    Walk(lesson, config).check();
    EXPECT_EQ(find_value(lesson, "divisors") != nullptr, !config.rotary.divisors.empty());
  };
  EXPECT_EQ(test::walk_trained_layers(is_latent, check), 3);
}

}  // namespace
}  // namespace headroom::lesson::latent_rules_test
