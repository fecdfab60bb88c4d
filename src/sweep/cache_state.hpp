// Warm or cold caches: what a layer finds when its pass begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "machine/peak.hpp"

namespace headroom::sweep {

/// `warm`: passes follow each other, as in a program that does nothing else. `cold`: each pass
/// finds weights, input and workspace in memory alone, as after other work.
enum class CacheState { warm, cold };

std::string_view to_string(CacheState state);

/// Inverse of `to_string`; empty for an unknown name.
std::optional<CacheState> parse_cache_state(std::string_view name);

/// @param limit bytes of memory that may be used in all
/// @throws ResourceError if nothing that memory allows is larger than all caches together.
void require_emptiable_caches(std::int64_t limit);

/// Empties the caches of all allowed cores by reading something larger.
class CacheEmptier {
 public:
  /// @param limit bytes of memory that may be used in all; a quarter is taken at most
  /// @throws ResourceError like require_emptiable_caches.
  void prepare(machine::ReadKernel kernel, std::int64_t limit);
  /// @pre prepared.
  void empty() { meter_->run(); }
  /// Bytes held.
  std::int64_t bytes() const;

 private:
  std::unique_ptr<machine::ReadMeter> meter_;
};

/// Seconds that emptying takes, roughly.
double seconds_to_empty_caches();

}  // namespace headroom::sweep
