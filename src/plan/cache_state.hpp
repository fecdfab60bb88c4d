// Warm or cold caches: what a layer finds when its pass begins.
#pragma once

#include <optional>
#include <string_view>

namespace headroom::plan {

/// `warm`: passes follow each other, as in a program that does nothing else. `cold`: each pass
/// finds weights, input and workspace in memory alone, as after other work.
enum class CacheState { warm, cold };

std::string_view to_string(CacheState state);

/// Inverse of `to_string`; empty for an unknown name.
std::optional<CacheState> parse_cache_state(std::string_view name);

}  // namespace headroom::plan
