// The examples of the lesson, in the order of the ladder.
#pragma once

#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/subject.hpp"

namespace headroom::lesson {

struct Example {
  std::string_view name;
  std::string_view line;   ///< what it shows
  bool any_input = false;  ///< takes a user's numbers
  bool any_heads = false;  ///< takes a number of heads
  bool drawn = false;      ///< its weights follow from a seed
  bool any_layer = false;  ///< takes trained weights
};

/// Every example, first to last.
const std::vector<Example>& examples();

/// @throws InvalidArgument for an unknown name (suggesting the nearest), for choices that the
///         example does not take, for heads that do not divide the width, and for a trained layer
///         that is too large to show or takes another input.
Lesson make_lesson(std::string_view name, const Choices& choices);

}  // namespace headroom::lesson
