// Steps of a layer whose keys and values are made of a latent.
#pragma once

#include "lesson/layer_trace.hpp"
#include "lesson/lesson.hpp"

namespace headroom::lesson {

/// From the weights to query, key and value of every head.
/// @param weights what is said of them
void add_latent_projections(Lesson& lesson, const LayerTrace& trace, const Text& weights);

}  // namespace headroom::lesson
