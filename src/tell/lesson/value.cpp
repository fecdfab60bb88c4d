#include "lesson/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "headroom/error.hpp"

namespace headroom::lesson {
namespace {

std::int64_t product(const std::vector<Axis>& axes, std::size_t first, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = first; i < end; ++i) count *= axes[i].size;
  return count;
}

// `(1, 2)`, and `(6,)` for a single axis, as everybody knows it from Python.
template <class Text>
std::string bracketed(const std::vector<Axis>& axes, const Text& text_of) {
  std::string text = "(";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", text_of(axes[i]));
  }
  return text + (axes.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string shape_text(const std::vector<Axis>& axes) {
  return bracketed(axes, [](const Axis& axis) { return axis.size; });
}

std::string names_text(const std::vector<Axis>& axes) {
  return bracketed(axes, [](const Axis& axis) { return axis.name; });
}

Value make_value(std::string name, std::vector<Axis> axes, std::vector<double> data) {
  if (product(axes, 0, axes.size()) != static_cast<std::int64_t>(data.size())) {
    throw InvalidArgument(fmt::format("lesson: '{}' has {} numbers; {} needs {}", name, data.size(),
                                      shape_text(axes), product(axes, 0, axes.size())));
  }
  return {std::move(name), std::move(axes), std::move(data)};
}

Value make_value(std::string name, std::vector<Axis> axes, ConstMatrixView matrix) {
  std::vector<double> data;
  data.reserve(static_cast<std::size_t>(matrix.rows * matrix.cols));
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    data.insert(data.end(), matrix.row(r), matrix.row(r) + matrix.cols);
  }
  return make_value(std::move(name), std::move(axes), std::move(data));
}

Value make_value(std::string name, std::vector<Axis> axes, const std::vector<float>& data) {
  return make_value(std::move(name), std::move(axes),
                    std::vector<double>(data.begin(), data.end()));
}

Value unrolled(Value value, std::size_t axis, Axis outer, Axis inner) {
  const auto at = value.axes.begin() + static_cast<std::ptrdiff_t>(axis);
  *at = std::move(outer);
  value.axes.insert(at + 1, std::move(inner));
  return make_value(std::move(value.name), std::move(value.axes), std::move(value.data));
}

Value flattened(Value value, std::size_t axis, Axis merged) {
  const auto at = value.axes.begin() + static_cast<std::ptrdiff_t>(axis);
  value.axes.erase(at + 1);
  value.axes[axis] = std::move(merged);
  return make_value(std::move(value.name), std::move(value.axes), std::move(value.data));
}

Value swapped(Value value, std::size_t axis) {
  const std::int64_t outer = product(value.axes, 0, axis);
  const std::int64_t rows = value.axes[axis].size;
  const std::int64_t cols = value.axes[axis + 1].size;
  const std::int64_t inner = product(value.axes, axis + 2, value.axes.size());
  std::vector<double> moved;
  moved.reserve(value.data.size());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t c = 0; c < cols; ++c) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto from = value.data.begin() + ((o * rows + r) * cols + c) * inner;
        moved.insert(moved.end(), from, from + inner);
      }
    }
  }
  value.data = std::move(moved);
  std::swap(value.axes[axis], value.axes[axis + 1]);
  return value;
}

Value squeezed(Value value, const std::vector<std::string>& names) {
  std::erase_if(value.axes, [&](const Axis& axis) {
    return axis.size == 1 && std::find(names.begin(), names.end(), axis.name) != names.end();
  });
  return value;
}

Value picked(const Value& value, std::size_t axis, std::int64_t index) {
  Value one = part_of(value, axis, index, {"", 1});
  one.axes.erase(one.axes.begin() + static_cast<std::ptrdiff_t>(axis));
  return one;
}

Value part_of(const Value& value, std::size_t axis, std::int64_t first, Axis part) {
  const std::int64_t outer = product(value.axes, 0, axis);
  const std::int64_t inner = product(value.axes, axis + 1, value.axes.size());
  Value some = value;
  some.data.clear();
  for (std::int64_t o = 0; o < outer; ++o) {
    const auto from = value.data.begin() + (o * value.axes[axis].size + first) * inner;
    some.data.insert(some.data.end(), from, from + part.size * inner);
  }
  some.axes[axis] = std::move(part);
  return some;
}

Value named(Value value, std::string name) {
  value.name = std::move(name);
  return value;
}

Value on_path(Value value) {
  value.on_path = true;
  return value;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;  // two infinities among them
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace headroom::lesson
