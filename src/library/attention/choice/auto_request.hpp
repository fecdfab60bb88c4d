// What is left to choose for a layer, as the tuning file and the rule are asked it.
#pragma once

#include "core/case.hpp"
#include "headroom/attention.hpp"
#include "tuning/request.hpp"

namespace headroom {

/// Of the backends of this program that take the layer; of the one that the options name, if they
/// do. Each with the numbers that the options ask for, or with all that have the error limits of
/// f32.
/// @param threads that threaded backends run with
/// @throws as `select_target`.
tuning::Request auto_request(const Case& shape, const AttentionOptions& options, int threads);

}  // namespace headroom
