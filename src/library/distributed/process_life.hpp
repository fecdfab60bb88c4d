// Whether another process of this machine still lives.
#pragma once

#include <cstdint>

#include "headroom/export.h"

namespace headroom::distributed {

/// A process as others know it. Goes from rank to rank as it is.
struct ProcessId {
  std::int64_t number = 0;
  std::uint64_t numbers = 0;  ///< the namespace in which that is a number

  bool operator==(const ProcessId&) const = default;
};

HEADROOM_API ProcessId this_process();

/// False for one that cannot be seen from here: on another machine, or in another container.
HEADROOM_API bool has_ended(const ProcessId& process);

}  // namespace headroom::distributed
