// Integer rounding of sizes.
#pragma once

#include <cstdint>

namespace headroom {

/// `a / b`, rounded up; both positive or `a` zero.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The smallest multiple of `b` that is at least `a`.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

}  // namespace headroom
