// Checks whether the system grants more threads, before a runtime needs them.
#pragma once

#include <string_view>

#include "headroom/export.h"

namespace headroom {

/// Starts that many threads at the same time, then ends them. The runtimes behind the backends
/// cannot be asked: OpenMP ends the process when a thread is refused, and oneTBB throws in the
/// middle of its work.
/// @param backend, wanted for the message: who needs the threads, and how many in total
/// @throws ResourceError if the system refuses one.
HEADROOM_API void require_threads(std::string_view backend, int wanted, int more);

}  // namespace headroom
