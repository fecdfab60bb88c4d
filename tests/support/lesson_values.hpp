// Values of a lesson by their names, and plain loops over them.
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

/// `rows x inner` times `inner x cols`.
inline Doubles product(const Doubles& a, const Doubles& b, std::int64_t inner, std::int64_t cols) {
  const std::int64_t rows = static_cast<std::int64_t>(a.size()) / inner;
  Doubles result(at(rows * cols));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      for (std::int64_t i = 0; i < inner; ++i) {
        result[at(r * cols + c)] += a[at(r * inner + i)] * b[at(i * cols + c)];
      }
    }
  }
  return result;
}

/// Columns `first` to `first + count - 1`.
inline Doubles columns(const Doubles& rows, std::int64_t width, std::int64_t first,
                       std::int64_t count) {
  Doubles result;
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(rows.size()) / width; ++r) {
    result.insert(result.end(), rows.begin() + r * width + first,
                  rows.begin() + r * width + first + count);
  }
  return result;
}

/// Rows of that width.
inline Doubles transposed(const Doubles& rows, std::int64_t width) {
  Doubles result;
  for (std::int64_t c = 0; c < width; ++c) {
    const Doubles column = columns(rows, width, c, 1);
    result.insert(result.end(), column.begin(), column.end());
  }
  return result;
}

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
