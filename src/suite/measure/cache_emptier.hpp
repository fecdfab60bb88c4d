// Empties the caches before a sample.
#pragma once

#include <cstdint>
#include <memory>

#include "machine/meters/peak.hpp"

namespace headroom::measure {

/// @param limit bytes of memory that may be used in all
/// @throws ResourceError if memory does not allow a buffer larger than all caches together.
void require_emptiable_caches(std::int64_t limit);

/// Empties the caches of all allowed cores by reading a larger buffer.
class CacheEmptier {
 public:
  /// @param limit bytes of memory that may be used in all; at most a quarter is taken
  /// @throws ResourceError like require_emptiable_caches.
  void prepare(machine::ReadKernel kernel, std::int64_t limit);
  /// @pre prepared.
  void empty() { meter_->run(); }
  /// Bytes held.
  std::int64_t bytes() const;

 private:
  std::unique_ptr<machine::ReadMeter> meter_;
};

/// Approximate seconds that emptying takes.
double seconds_to_empty_caches();

}  // namespace headroom::measure
