// How many cores this process may use.
#pragma once

#include <sched.h>

#include <cstddef>
#include <filesystem>
#include <functional>

#include "headroom/export.h"

namespace headroom {

/// Cores in the affinity mask, limited by the container's quota (rounded up), at least 1. The quota
/// is read once, because estimating many cells asks for it per cell.
HEADROOM_API int allowed_cores();

namespace processor {

/// Like sched_getaffinity(2) for this thread: 0, or -1 with errno.
using AffinityCall = std::function<int(std::size_t bytes, cpu_set_t* set)>;

/// Cores in the affinity mask, however many the machine has; 0 if the system does not say.
HEADROOM_API int affinity_cores(const AffinityCall& call);

/// The smallest processor quota of the process's control group and of those above it, in cores; 0
/// if there is none.
/// @param root stands for `/`
HEADROOM_API double quota_cores(const std::filesystem::path& root);

}  // namespace processor
}  // namespace headroom
