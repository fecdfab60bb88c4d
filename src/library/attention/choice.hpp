// Shared by choosing a backend and making a layer.
#pragma once

#include "headroom/attention.hpp"

namespace headroom {

/// The number of threads that threaded backends run with.
/// @throws InvalidArgument for a negative one, or one above `kMaxThreads`.
int wanted_threads(const AttentionOptions& options);

}  // namespace headroom
