// Whether the system lets this process have more threads, found out before a runtime needs them.
#pragma once

#include <string_view>

#include "headroom/export.h"

namespace headroom {

/// Starts so many threads that all are there at once, and ends them. The runtimes behind the
/// backends cannot be asked: OpenMP ends the process when it is refused a thread, and oneTBB throws
/// in the middle of its work.
/// @param backend, wanted for the message: whose threads, and how many it needs together
/// @throws ResourceError if the system refuses one.
HEADROOM_API void require_threads(std::string_view backend, int wanted, int more);

}  // namespace headroom
