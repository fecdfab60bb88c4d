// A lesson as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lesson/lesson.hpp"

namespace headroom::lesson {

/// For a terminal: four decimals, the shape beside every value, words beside every row. Long axes
/// show their first and last entries.
std::string to_text(const Lesson& lesson);

/// The list of examples, one line each.
std::string examples_text();

/// Schema `headroom.lesson/1`, with every number. What JSON has no number for is a text: `"-inf"`,
/// `"inf"`, `"nan"`.
nlohmann::ordered_json to_json(const Lesson& lesson);

/// Schema `headroom.examples/1`.
nlohmann::ordered_json examples_json();

}  // namespace headroom::lesson
