// How close attention by products of bytes comes to its bound.
#pragma once

#include <cstdint>

namespace headroom::test {

/// Runs random calls over a cache of q8 with `int8`: prints by kind of data the largest errors, and
/// of faults that were planted how many are within the bound.
void fit_attended_bytes(std::uint64_t calls);

}  // namespace headroom::test
