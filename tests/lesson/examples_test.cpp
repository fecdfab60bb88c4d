// Every example, against PyTorch's values and against itself.
#include "lesson/examples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headroom/error.hpp"
#include "headroom/headroom.hpp"
#include "lesson/lesson_text.hpp"
#include "support/json_matrix.hpp"

namespace headroom::lesson::examples_test {
namespace {

using nlohmann::json;

// What `headroom explain NAME --json` prints, read back.
const json& printed(const std::string& name) {
  static std::map<std::string, json> all;
  json& lesson = all[name];
  if (lesson.is_null()) lesson = json::parse(to_json(make_lesson(name, {})).dump());
  return lesson;
}

double number(const json& entry) {
  if (entry.is_number()) return entry.get<double>();
  return entry == "-inf" ? -INFINITY : entry == "inf" ? INFINITY : NAN;
}

// The least of the largest differences between a golden tensor and a value of the same shape.
double distance(const json& tensor, const json& lesson) {
  double least = INFINITY;
  for (const json& step : lesson.at("steps")) {
    for (const json& value : step.at("values")) {
      if (value.at("shape") != tensor.at("shape")) continue;
      double largest = 0;
      for (std::size_t i = 0; i < value.at("data").size(); ++i) {
        const double found = number(value.at("data")[i]);
        const auto expected = tensor.at("data")[i].get<double>();
        largest = std::isnan(found) ? INFINITY : std::max(largest, std::abs(found - expected));
      }
      least = std::min(least, largest);
    }
  }
  return least;
}

const std::map<std::string, std::string>& example_of_case() {
  static const std::map<std::string, std::string> names{{"simplified_attention", "simplified"},
                                                        {"self_attention_v1", "self-attention"},
                                                        {"self_attention_v2", "self-attention"},
                                                        {"causal_masking", "causal"},
                                                        {"causal_attention", "batch"},
                                                        {"wrapper_journey", "wrapper"},
                                                        {"wrapper_dream", "dream"},
                                                        {"split_journey", "split"},
                                                        {"split_six_bias", "six-bias"},
                                                        {"split_six_bias_unmasked", "six-bias"},
                                                        {"stepwise_the_kid_smiles", "kid-smiles"},
                                                        {"heads_by_hand", "heads-by-hand"}};
  return names;
}

class Walk {
 public:
  Walk(std::string name, const json& lesson) : name_(std::move(name)), lesson_(lesson) {}

  // Every tensor below a node.
  void visit(const json& node, const std::string& path) {
    if (!node.is_structured()) return;
    if (node.is_object() && node.contains("data")) {
      double largest = 1;
      for (const json& entry : node.at("data")) {
        largest = std::max(largest, std::abs(entry.get<double>()));
      }
      // PyTorch computed in float: a few roundings of the largest value.
      EXPECT_LE(distance(node, lesson_), 1e-6 * largest) << name_ << path << " is in no step";
      ++tensors;
      return;
    }
    for (const auto& [key, child] : node.items()) visit(child, path + "/" + key);
  }

  int tensors = 0;

 private:
  std::string name_;
  const json& lesson_;
};

TEST(Examples, ShowEveryValueOfPyTorch) {
  const json golden = test::read_data("attention_examples.json").at("cases");
  ASSERT_EQ(golden.size(), example_of_case().size());
  int tensors = 0;
  for (const auto& [name, tensor] : golden.items()) {
    Walk walk(name, printed(example_of_case().at(name)));
    walk.visit(tensor, "");
    tensors += walk.tensors;
  }
  EXPECT_EQ(tensors, 93);
}

TEST(Examples, AgreeWithEveryBackend) {
  for (const Example& example : examples()) {
    const json& lesson = printed(std::string(example.name));
    EXPECT_TRUE(lesson.at("passed").get<bool>()) << example.name;
    const json& rows = lesson.at("steps").back().at("table").at("rows");
    std::size_t available = 0;
    for (const BackendInfo& backend : backends()) available += backend.available ? 1 : 0;
    EXPECT_GE(rows.size(), available) << example.name;
    for (const json& row : rows) EXPECT_EQ(row.back(), "agrees") << example.name << row;
  }
}

// Each has what the text and the page promise.
TEST(Examples, EveryStepSaysSomething) {
  for (const Example& example : examples()) {
    const json& lesson = printed(std::string(example.name));
    std::size_t on_path = 0;
    for (const json& step : lesson.at("steps")) {
      EXPECT_GT(step.at("text").get<std::string>().size(), 30U) << example.name << step.at("title");
      EXPECT_TRUE(!step.at("values").empty() || step.contains("table")) << step.at("title");
      for (const json& value : step.at("values")) {
        on_path += value.at("on_path").get<bool>() ? 1 : 0;
        ASSERT_EQ(value.at("shape").size(), value.at("axes").size());
        for (std::size_t axis = 0; axis < value.at("shape").size(); ++axis) {
          const json& labels = value.at("axes")[axis];
          if (!labels.contains("labels")) continue;
          EXPECT_EQ(labels.at("labels").size(), value.at("shape")[axis].get<std::size_t>());
        }
      }
    }
    EXPECT_GE(on_path, 4U) << example.name;
  }
}

const json& value_named(const json& lesson, const std::string& name) {
  for (const json& step : lesson.at("steps")) {
    for (const json& value : step.at("values")) {
      if (value.at("name") == name) return value;
    }
  }
  throw std::runtime_error("no value named " + name);
}

// The three places where notebooks are wrong: what they print, beside what is right.
TEST(Corrections, ShowWhatNotebooksPrint) {
  for (const char* name : {"dream", "heads-by-hand", "six-bias"}) {
    const json& lesson = printed(name);
    const auto& steps = lesson.at("steps");
    EXPECT_EQ(std::count_if(steps.begin(), steps.end(),
                            [](const json& step) { return step.at("correction").get<bool>(); }),
              1);
    const json& wrong = value_named(lesson, "what the notebook prints");
    const json& right = value_named(lesson, "what is right");
    EXPECT_EQ(wrong.at("shape"), right.at("shape"));
    double largest = 0;
    for (std::size_t i = 0; i < wrong.at("data").size(); ++i) {
      largest =
          std::max(largest, std::abs(number(wrong.at("data")[i]) - number(right.at("data")[i])));
    }
    EXPECT_GT(largest, 1e-3) << name;
    EXPECT_DOUBLE_EQ(largest, number(value_named(lesson, "largest difference").at("data")[0]));
  }
}

// Row 1 as the notebook of the merged rows prints it: head 1 of tokens 1 and 2.
TEST(Corrections, MergedRowsAreTheNotebooks) {
  const json& wrong = value_named(printed("heads-by-hand"), "what the notebook prints");
  const std::vector<double> first{0.8375, 0.7430, 0.8563, 0.4757, 0.4464, 0.4605};
  for (std::size_t i = 0; i < first.size(); ++i) {
    // Its query, key and value are printed with four digits, which moves the last one here.
    EXPECT_NEAR(number(wrong.at("data")[i]), first[i], 1e-4);
  }
}

// The notebook's own numbers after dropout.
TEST(HeadsByHand, DropoutDoublesWhatStays) {
  const json& dropped =
      value_named(printed("heads-by-hand"), "attention weights after dropout").at("data");
  const std::map<std::size_t, double> kept{{3, 0.9894},  {6, 0.7289},  {8, 0.4798},
                                           {13, 1.0319}, {15, 0.7621}, {16, 0.7879}};
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    EXPECT_NEAR(number(dropped[i]), kept.contains(i) ? kept.at(i) : 0, 6e-5) << i;
  }
}

TEST(Simplified, NaiveSoftmaxOverflowsAndTheStableOneDoesNot) {
  const json& lesson = printed("simplified");
  const json& naive = value_named(lesson, "naive softmax of scores times 100").at("data");
  EXPECT_TRUE(
      std::any_of(naive.begin(), naive.end(), [](const json& entry) { return entry == "nan"; }));
  double sum = 0;
  for (const json& entry : value_named(lesson, "stable softmax of scores times 100").at("data")) {
    sum += number(entry);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Causal, BothWaysOfMaskingGiveTheSameRows) {
  const json& difference = value_named(printed("causal"), "largest difference between both");
  EXPECT_LE(number(difference.at("data")[0]), 1e-15);
}

TEST(Products, AreThreePerHeadOrThree) {
  Choices choices;
  choices.heads = 5;
  const Lesson lesson = make_lesson("wrapper", choices);
  ASSERT_TRUE(lesson.products);
  EXPECT_EQ(lesson.products->wrapper, 15);
  EXPECT_EQ(lesson.products->split, 3);
  EXPECT_EQ(lesson.products->multiply_adds, 3 * 12 * 3 * 10);
}

TEST(Choices, AnotherSeedDrawsOtherWeights) {
  Choices choices;
  choices.seed = 124;
  const json other = json::parse(to_json(make_lesson("split", choices)).dump());
  EXPECT_NE(value_named(other, "W_query").at("data"),
            value_named(printed("split"), "W_query").at("data"));
}

TEST(Choices, ThatAnExampleDoesNotTakeAreRefused) {
  Choices heads;
  heads.heads = 2;
  EXPECT_THROW(make_lesson("simplified", heads), InvalidArgument);
  Choices seed;
  seed.seed = 1;
  EXPECT_THROW(make_lesson("heads-by-hand", seed), InvalidArgument);
  Choices own;
  own.own = journey();
  EXPECT_THROW(make_lesson("six-bias", own), InvalidArgument);
}

}  // namespace
}  // namespace headroom::lesson::examples_test
