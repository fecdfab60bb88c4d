// What memory can have.
#pragma once

#include <cstdint>

namespace headroom {

/// The largest user address space of any processor we know (x86-64 with five levels of page
/// tables), in bytes. A pointer below that plus a span below it cannot wrap either.
inline constexpr std::int64_t kMostAddresses = std::int64_t{1} << 56;

}  // namespace headroom
