// What the times of wrapper and split show, in words: true of whatever was measured.
#pragma once

#include <string>
#include <vector>

#include "lesson/formulation_times.hpp"

namespace headroom::lesson {

/// Such as "96 heads of 8, width 768, 16 tokens".
std::string shape_text(const Case& shape);

/// Which backends differ, and why. A reason is given only where a difference is shown.
/// @pre keys have as many heads as queries
std::string findings(const ShapeTimes& times);

/// Why a row may be not distinguishable although its interval excludes 1. Empty without rows.
std::string verdict_note(const std::vector<ShapeTimes>& times);

}  // namespace headroom::lesson
