// Steps that several examples share, from a traced layer.
#pragma once

#include <string>
#include <vector>

#include "lesson/layer_trace.hpp"
#include "lesson/lesson.hpp"

namespace headroom::lesson {

using Names = std::vector<std::string>;

/// Of a lesson about one sentence and one head, so that shapes are `(T, d_in)` and `(T, T)`.
const Names& one_sentence();
/// Of a lesson about batches of one head.
const Names& one_head();

Value squeezed_input(const LayerTrace& trace, const Names& squeeze);
void add_input(Lesson& lesson, const LayerTrace& trace, const Names& squeeze);

/// Query, key and value of one head.
void add_projections(Lesson& lesson, const LayerTrace& trace, const Names& squeeze);
/// Scores, mask if there is one, softmax, context of one head.
void add_attention(Lesson& lesson, const LayerTrace& trace, const Names& squeeze);

/// Of a layer with heads: projections, unrolled and grouped.
void add_split_projections(Lesson& lesson, const LayerTrace& trace);
/// Scores, mask, softmax.
void add_head_weights(Lesson& lesson, const LayerTrace& trace);
/// Context of the heads, regrouped and flattened, and the output projection if there is one.
void add_merge(Lesson& lesson, const LayerTrace& trace);

/// Counts the products of both formulations.
void add_side_by_side(Lesson& lesson, const Case& shape);

}  // namespace headroom::lesson
