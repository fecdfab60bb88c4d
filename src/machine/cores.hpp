// How many cores this process may use.
#pragma once

#include "headroom/export.h"

namespace headroom {

/// Cores in the affinity mask, limited by the container's quota (rounded up), at least 1.
HEADROOM_API int allowed_cores();

}  // namespace headroom
