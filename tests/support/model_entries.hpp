// The layers of tests/data/models, and what their models give for them.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "headroom/load_weights.hpp"
#include "support/layer_data.hpp"

namespace headroom::test {

std::filesystem::path models_folder();

/// Values of a tensor, float32 or float64.
std::vector<double> read_doubles(const std::filesystem::path& path, const std::string& name,
                                 std::vector<std::int64_t>& dims);

/// |found - expected| / |expected|
double nrmse(std::span<const double> expected, std::span<const double> found);

/// What was read, over the input of an entry of models.json.
Layer with_input(const LayerWeights& loaded, const nlohmann::json& entry);

/// What the model itself gives for that input.
std::vector<double> expected_of(const nlohmann::json& entry);

}  // namespace headroom::test
