// Lessons with the weights of trained layers, as their own libraries wrote them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"
#include "lesson/examples.hpp"
#include "lesson/own_input.hpp"
#include "support/lesson_values.hpp"
#include "support/refusals.hpp"
#include "weights/npy.hpp"

namespace headroom::lesson::trained_layer_test {
namespace {

using test::value_named;

const std::string kData = std::string(HEADROOM_TEST_DATA) + "/weights/";

TrainedLayer layer_of(const std::string& model, const WeightsOptions& options = {}) {
  LayerWeights loaded = load_weights(kData + model, options);
  return {{loaded.config, {}, {}}, to_split(loaded.weights), model};
}

void expect_result_of_its_library(const std::string& model, const WeightsOptions& options) {
  Choices choices;
  choices.layer = layer_of(model, options);
  choices.own = read_input(kData + model + "/x.npy");
  const Lesson lesson = make_lesson("split", choices);
  EXPECT_TRUE(lesson.passed);
  const std::vector<float> expected =
      weights::read_npy(weights::FileBytes(kData + model + "/y.npy")).values;
  const Value& y = value_named(lesson, "y");
  ASSERT_EQ(y.data.size(), expected.size());
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(y.data[i] - expected[i]));
  }
  EXPECT_LT(most, 1e-5);
}

TEST(TrainedLesson, EndsWithTheResultOfTheModelsOwnLibrary) {
  WeightsOptions second;
  second.layer = "1";
  expect_result_of_its_library("gpt2", second);
  WeightsOptions first;
  expect_result_of_its_library("llama", first);
}

TEST(TrainedLesson, ValuesOfAnotherWidthAreRefused) {
  Choices choices;
  choices.layer = layer_of("llama");
  choices.layer->shape.value_dim = 1;
  EXPECT_THROW(make_lesson("split", choices), Unsupported);
}

TEST(TrainedLesson, GroupedHeadsHaveAxesOfTheirOwn) {
  Choices choices;
  choices.layer = layer_of("llama");
  const Case shape = choices.layer->shape;
  ASSERT_NE(shape.key_heads(), shape.heads);
  const Lesson lesson = make_lesson("split", choices);
  const auto turned = [](const Step& step) {
    return step.title == "Turn query and key to their positions";
  };
  EXPECT_EQ(std::count_if(lesson.steps.begin(), lesson.steps.end(), turned), 1);
  const Value& key = value_named(lesson, "key");
  EXPECT_EQ(key.axes.back().name, "kv_width");
  EXPECT_EQ(key.axes.back().size, shape.kv_width());
  ASSERT_TRUE(lesson.products.has_value());
  EXPECT_EQ(lesson.products->key_heads, shape.key_heads());
  EXPECT_EQ(lesson.products->wrapper, shape.heads + 2 * shape.key_heads());
  EXPECT_NE(lesson.about.find("6 random tokens, seed 1"), std::string::npos) << lesson.about;
  EXPECT_NE(lesson.about.find("key heads"), std::string::npos) << lesson.about;
}

void expect_refused(const std::string& example, const Choices& choices, const std::string& part) {
  test::expect_refused(part, [&] { make_lesson(example, choices); });
}

TEST(TrainedLesson, WhatDoesNotFitIsRefused) {
  Choices choices;
  choices.layer = layer_of("gpt2");
  expect_refused("wrapper", choices, "--weights: the example 'wrapper' takes none");
  choices.own = journey();
  expect_refused("split", choices, "has rows of 3 numbers");
  choices.own.reset();
  choices.layer->shape.d_in = kMostWidth + 1;
  expect_refused("split", choices, "a lesson shows at most 512");
}

}  // namespace
}  // namespace headroom::lesson::trained_layer_test
