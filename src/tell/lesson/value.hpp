// A tensor as the lesson shows it: every axis has a name, and may have labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/view.hpp"

namespace headroom::lesson {

struct Axis {
  std::string name;  ///< such as `T`; see docs/explain.md
  std::int64_t size = 0;
  std::vector<std::string> labels = {};  ///< one per index, such as words; or empty
};

struct Value {
  /// How the page draws it, beside the numbers.
  enum class Kind {
    plain,
    embeddings,  ///< one point per token
    attention,   ///< a heat map per head
  };
  std::string name;
  std::vector<Axis> axes;    ///< outermost first
  std::vector<double> data;  ///< row-major
  Kind kind = Kind::plain;
  bool on_path = false;  ///< a station on the way from x to y
};

/// Such as `(2, 6, 3)`.
std::string shape_text(const std::vector<Axis>& axes);
/// Such as `(B, T, d_in)`.
std::string names_text(const std::vector<Axis>& axes);

/// @throws InvalidArgument if there are not as many numbers as the axes say.
Value make_value(std::string name, std::vector<Axis> axes, std::vector<double> data);
Value make_value(std::string name, std::vector<Axis> axes, ConstMatrixView matrix);
Value make_value(std::string name, std::vector<Axis> axes, const std::vector<float>& data);

/// One axis as two: `(..., outer.size * inner.size, ...)` becomes `(..., outer, inner, ...)`.
Value unrolled(Value value, std::size_t axis, Axis outer, Axis inner);
/// The reverse: an axis and the one after it as one.
Value flattened(Value value, std::size_t axis, Axis merged);
/// Exchanges an axis and the one after it, and moves the numbers.
Value swapped(Value value, std::size_t axis);
/// Some of an axis, from `first` on, as an axis of its own.
Value part_of(const Value& value, std::size_t axis, std::int64_t first, Axis part);
/// Without the axes of these names, as far as they have one index.
Value squeezed(Value value, const std::vector<std::string>& names);
/// One index of an axis, which goes.
Value picked(const Value& value, std::size_t axis, std::int64_t index);

Value named(Value value, std::string name);
Value on_path(Value value);

/// The largest `|a - b|`; NaN is never equal.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headroom::lesson
