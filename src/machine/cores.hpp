// How many cores this process may use.
#pragma once

namespace headroom {

/// Cores in the affinity mask, limited by the container's quota (rounded up), at least 1.
int allowed_cores();

}  // namespace headroom
