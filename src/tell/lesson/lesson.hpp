// A lesson as data: steps with their values. Text, JSON and the page are three renderings of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/value.hpp"

namespace headroom::lesson {

struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Step {
  std::string title;
  std::string text;
  std::vector<Value> values = {};
  std::optional<Table> table = {};
  bool correction = false;  ///< a published notebook is wrong here
};

/// How much work both formulations of a layer are.
struct ProductCount {
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t wrapper = 0;        ///< matrix products for query, key and value
  std::int64_t split = 0;          ///< likewise
  std::int64_t multiply_adds = 0;  ///< of these products, the same for both
};

struct Lesson {
  std::string name;   ///< of the example
  std::string title;  ///< one line
  std::string about;  ///< what goes in, and how weights are drawn
  std::vector<std::string> words;
  std::vector<Step> steps;
  std::optional<ProductCount> products;  ///< of a layer with heads
  bool passed = true;                    ///< every backend agrees with the oracle
};

/// A title and what stands below it.
struct Text {
  std::string_view title;
  std::string_view body;
};

Step make_step(const Text& text, std::vector<Value> values);

}  // namespace headroom::lesson
