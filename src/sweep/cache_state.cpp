#include "sweep/cache_state.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "machine/caches.hpp"
#include "machine/cores.hpp"
#include "sweep/exit_code.hpp"

namespace headroom::sweep {
namespace {

machine::UncachedBuffer buffer_within(std::int64_t limit) {
  return machine::uncached_buffer(machine::describe_processor(), limit / 4);
}

}  // namespace

std::string_view to_string(CacheState state) { return state == CacheState::cold ? "cold" : "warm"; }

std::optional<CacheState> parse_cache_state(std::string_view name) {
  for (const CacheState state : {CacheState::warm, CacheState::cold}) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

void require_emptiable_caches(std::int64_t limit) {
  const std::string refusal = buffer_within(limit).refusal;
  if (!refusal.empty()) {
    throw ResourceError(fmt::format(
        "--cache cold: {}; it may take a quarter of --max-memory, and --cache warm needs none",
        refusal));
  }
}

void CacheEmptier::prepare(machine::ReadKernel kernel, std::int64_t limit) {
  require_emptiable_caches(limit);
  meter_ =
      std::make_unique<machine::ReadMeter>(allowed_cores(), buffer_within(limit).bytes, kernel);
}

std::int64_t CacheEmptier::bytes() const {
  return meter_ ? static_cast<std::int64_t>(meter_->bytes()) : 0;
}

double seconds_to_empty_caches() {
  constexpr double kReadBytesPerSecond = 1e10;  // of a whole machine, at the least
  return static_cast<double>(buffer_within(std::numeric_limits<std::int64_t>::max()).bytes) /
         kReadBytesPerSecond;
}

}  // namespace headroom::sweep
