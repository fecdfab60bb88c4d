#include "measure/cache_emptier.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "machine/caches.hpp"
#include "processor/cores.hpp"
#include "program/exit_code.hpp"

namespace headroom::measure {
namespace {

machine::UncachedBuffer buffer_within(std::int64_t limit) {
  return machine::uncached_buffer(machine::describe_processor(), limit / 4);
}

std::int64_t required_bytes(std::int64_t limit) {
  const machine::UncachedBuffer buffer = buffer_within(limit);
  if (buffer.bytes > 0) return buffer.bytes;
  throw ResourceError(
      fmt::format("--cache cold: {}; the buffer may take a quarter of --max-memory, and --cache "
                  "warm needs none",
                  buffer.refusal));
}

}  // namespace

void require_emptiable_caches(std::int64_t limit) { required_bytes(limit); }

void CacheEmptier::prepare(machine::ReadKernel kernel, std::int64_t limit) {
  meter_ = std::make_unique<machine::ReadMeter>(allowed_cores(), required_bytes(limit), kernel);
}

std::int64_t CacheEmptier::bytes() const {
  return meter_ ? static_cast<std::int64_t>(meter_->bytes()) : 0;
}

double seconds_to_empty_caches() {
  constexpr double kReadBytesPerSecond = 1e10;  // a low value for a whole machine
  return static_cast<double>(buffer_within(std::numeric_limits<std::int64_t>::max()).bytes) /
         kReadBytesPerSecond;
}

}  // namespace headroom::measure
