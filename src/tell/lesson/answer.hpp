// The last step of a lesson: what the library's own backends say, beside the oracle.
#pragma once

#include <vector>

#include "headroom/formulation.hpp"
#include "lesson/layer_trace.hpp"
#include "lesson/lesson.hpp"

namespace headroom::lesson {

/// Runs the layer on every backend that is available and takes its shape. The value is the result
/// of the backend that `auto` chooses, without the axes that `squeeze` names and that have one
/// index; the table says how far each is from the oracle. One that is too far makes the lesson
/// fail.
void add_answer(Lesson& lesson, const LayerTrace& trace,
                const std::vector<Formulation>& formulations,
                const std::vector<std::string>& squeeze);

}  // namespace headroom::lesson
