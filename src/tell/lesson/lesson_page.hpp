// A lesson as one page that needs no network.
#pragma once

#include <string>
#include <vector>

#include "lesson/formulation_times.hpp"
#include "lesson/lesson.hpp"

namespace headroom::lesson {

/// HTML with everything inside.
/// @param times of `time_formulations`; empty for a lesson without heads
std::string page_of(const Lesson& lesson, const std::vector<ShapeTimes>& times);

}  // namespace headroom::lesson
