// The two orders in which a layer of latents may be multiplied.
#pragma once

#include "lesson/layer_trace.hpp"
#include "lesson/lesson.hpp"

namespace headroom::lesson {

/// The last token of the first sequence once more, without keys and values, and what that saves.
void add_absorbed_order(Lesson& lesson, const LayerTrace& trace);

}  // namespace headroom::lesson
