#include "plan/cache_state.hpp"

#include "core/text/names.hpp"

namespace headroom::plan {
namespace {

constexpr Name<CacheState> kNames[] = {{CacheState::warm, "warm"}, {CacheState::cold, "cold"}};

}  // namespace

std::string_view to_string(CacheState state) { return name_of(kNames, state); }

std::optional<CacheState> parse_cache_state(std::string_view name) {
  return value_of(kNames, name);
}

}  // namespace headroom::plan
