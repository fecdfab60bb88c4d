// Values of a lesson by their names, and what they should be.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"

namespace headroom::test {

using Doubles = std::vector<double>;

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

inline const lesson::Value* find_value(const lesson::Lesson& lesson, const std::string& name) {
  for (const lesson::Step& step : lesson.steps) {
    for (const lesson::Value& value : step.values) {
      if (value.name == name) return &value;
    }
  }
  return nullptr;
}

inline const lesson::Value& value_named(const lesson::Lesson& lesson, const std::string& name) {
  if (const lesson::Value* value = find_value(lesson, name)) return *value;
  throw std::runtime_error("no value " + name);
}

/// 0 if no value has such an axis.
inline std::int64_t size_of(const lesson::Lesson& lesson, const std::string& name) {
  for (const lesson::Step& step : lesson.steps) {
    for (const lesson::Value& value : step.values) {
      for (const lesson::Axis& axis : value.axes) {
        if (axis.name == name) return axis.size;
      }
    }
  }
  return 0;
}

inline void expect_equal(const Doubles& found, const Doubles& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isinf(expected[i]) && found[i] == expected[i]) continue;
    ASSERT_NEAR(found[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << what << " at " << i;
  }
}

}  // namespace headroom::test
