// What the choice of a backend and the making of a layer share.
#pragma once

#include "headroom/attention.hpp"

namespace headroom {

/// The number of threads that threaded backends will run with.
/// @throws InvalidArgument for a negative one, or one above `kMaxThreads`.
int wanted_threads(const AttentionOptions& options);

}  // namespace headroom
