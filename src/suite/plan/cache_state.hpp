// Whether the caches are warm or cold when a pass begins.
#pragma once

#include <optional>
#include <string_view>

namespace headroom::plan {

/// `warm`: passes run back to back, as in a program that does nothing else. `cold`: weights, input
/// and workspace are in memory only when a pass begins, as after other work.
enum class CacheState { warm, cold };

std::string_view to_string(CacheState state);

/// Inverse of `to_string`; empty for an unknown name.
std::optional<CacheState> parse_cache_state(std::string_view name);

}  // namespace headroom::plan
