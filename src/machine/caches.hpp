// How much has to be read so that the caches hold nothing else.
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

/// Four times the last level of all cores together, at least 256 MiB, or less where only less
/// memory may be taken, but never less than 1.25 times the caches of all levels together: a cache
/// that does not evict strictly by age keeps some of what was there.
UncachedBuffer uncached_buffer(const Processor& processor, std::int64_t max_bytes);

}  // namespace headroom::machine
