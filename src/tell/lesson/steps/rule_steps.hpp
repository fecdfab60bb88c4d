// Steps of what models add to the textbook's layer. Each is there if the layer has it.
#pragma once

#include "core/case.hpp"
#include "lesson/layer_trace.hpp"
#include "lesson/lesson.hpp"

namespace headroom::lesson {

/// Norms and rotary positions of the grouped heads of query and key, in the order of the layer.
void add_preparation(Lesson& lesson, const LayerTrace& trace);

/// By how much each pair of a token's heads is turned, in radians: `(T, pair)`.
Value angles(const LayerTrace& trace);
/// What these were divided by, where the model stretches its positions.
void add_stretch(Lesson& lesson, const LayerTrace& trace);

/// Whether anything stands between scores and softmax that the textbook's layer does not have.
bool has_score_rules(const Case& shape);

/// From the scores of every head to their attention weights: scale, cap, mask, window, sinks.
void add_ruled_weights(Lesson& lesson, const LayerTrace& trace);

}  // namespace headroom::lesson
