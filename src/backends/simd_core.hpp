// The core that the SIMD kernels run on, as far as their first choice of a variant goes by it.
#pragma once

#include <string>

#include "simd/variants.hpp"

namespace headroom::simd {

/// Measured in about a millisecond at the first call for a level, then kept.
CoreFacts core_facts(Isa isa);

/// Such as "first choice, by 2.0 multiply-adds per cycle and an L2 of 512 KiB".
std::string to_text(const CoreFacts& core);

}  // namespace headroom::simd
