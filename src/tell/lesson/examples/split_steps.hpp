// What all lessons about weight splits share.
#pragma once

#include <string>

#include "lesson/layer_trace.hpp"
#include "lesson/lesson.hpp"
#include "lesson/subject.hpp"
#include "lesson/texts/texts.hpp"

namespace headroom::lesson {

/// @param weights one line: heads, and where the weights come from
Lesson started_split(const Subject& subject, std::string title, const std::string& weights);

/// Everything up to the softmax.
void add_split_beginning(Lesson& lesson, const LayerTrace& trace, const Text& weights);

/// From the heads' context to the library's answer.
void add_split_end(Lesson& lesson, const LayerTrace& trace);

}  // namespace headroom::lesson
