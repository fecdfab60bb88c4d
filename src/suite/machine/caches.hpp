// How much must be read to empty the caches.
#pragma once

#include <cstdint>
#include <string>

#include "machine/processor.hpp"

namespace headroom::machine {

/// A buffer that empties all caches while it is read, or why there cannot be one.
struct UncachedBuffer {
  std::int64_t bytes = 0;  ///< 0 if refused
  std::string refusal;     ///< empty if there is one
};

/// Four times the last level of all cores together, and at least 256 MiB. Less if memory is
/// limited, but never below 1.25 times the caches of all levels together: a cache that does not
/// evict strictly by age keeps some of its old lines.
UncachedBuffer uncached_buffer(const Processor& processor, std::int64_t max_bytes);

}  // namespace headroom::machine
