#include "plan/cache_state.hpp"

namespace headroom::plan {

std::string_view to_string(CacheState state) { return state == CacheState::cold ? "cold" : "warm"; }

std::optional<CacheState> parse_cache_state(std::string_view name) {
  for (const CacheState state : {CacheState::warm, CacheState::cold}) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

}  // namespace headroom::plan
