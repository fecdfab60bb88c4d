// Lessons through the layers of tests/data/models, as `--weights` walks them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "headroom/layer_config.hpp"
#include "lesson/examples.hpp"
#include "support/lesson_values.hpp"
#include "support/model_entries.hpp"

namespace headroom::test {

/// Expects of each that it ends with what its model gives.
/// @param wanted of the name of a model's folder: whether its layers are walked
/// @param check of a lesson and the layer's configuration, what else has to hold
/// @return how many there were
template <class Wanted, class Check>
int walk_trained_layers(const Wanted& wanted, const Check& check) {
  std::ifstream file(models_folder() / "models.json");
  int walked = 0;
  for (const nlohmann::json& entry : nlohmann::json::parse(file)) {
    const std::string folder = entry.at("folder");
    if (!wanted(folder)) continue;
    SCOPED_TRACE(folder + " " + entry.at("kind").get<std::string>());
    WeightsOptions options;
    options.layer = std::to_string(entry.at("layer").get<int>());
    const LayerWeights loaded =
        load_weights(models_folder() / folder / "model.safetensors", options);
    const Layer layer = with_input(loaded, entry);
    lesson::Choices choices;
    choices.layer = lesson::TrainedLayer{layer.shape, layer.weights, folder};
    choices.own =
        lesson::Subject{layer.x, 1, lesson::numbered_tokens(layer.shape.tokens), "its input"};
    const lesson::Lesson lesson = lesson::make_lesson("split", choices);
    EXPECT_LE(nrmse(expected_of(entry), value_named(lesson, "y").data), 1e-7);
    check(lesson, loaded.config);
    ++walked;
  }
  return walked;
}

}  // namespace headroom::test
