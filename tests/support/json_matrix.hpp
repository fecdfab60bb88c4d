// Tensors in the data files of tests/data.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "headroom/weights.hpp"

namespace headroom::test {

inline nlohmann::json read_data(const std::string& name) {
  const std::string path = HEADROOM_TEST_DATA "/" + name;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(in);
}

/// The last dimension is the columns, all others are the rows.
inline Matrix to_matrix(const nlohmann::json& tensor) {
  const auto cols = tensor.at("shape").back().get<std::int64_t>();
  const auto count = static_cast<std::int64_t>(tensor.at("data").size());
  Matrix matrix(count / cols, cols);
  matrix.values = tensor.at("data").get<std::vector<float>>();
  return matrix;
}

/// Empty if the example does not have it.
inline Matrix optional_matrix(const nlohmann::json& example, const std::string& name) {
  return example.contains(name) ? to_matrix(example.at(name)) : Matrix{};
}

}  // namespace headroom::test
