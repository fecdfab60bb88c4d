// The core that the SIMD kernels run on, as far as their first choice of a variant goes by it.
#pragma once

#include <string>

#include "simd/variants.hpp"

namespace headroom::simd {

/// Measured in about a millisecond at the first call for a level, then kept.
CoreFacts core_facts(Isa isa);

/// How many times the rate of f32 AVX512_BF16 has, from the L1 on one thread: nearly two on one
/// kind of core, less than one on another. Measured and kept as above.
/// @pre this machine has the unit
double avx512_bf16_gain();

/// What to say where that gain is too small to give up accuracy for; empty where it is not.
std::string why_f32_is_no_slower(double gain);

/// Whether attention streams keys and values into the L1, by the caches of this core, which are
/// asked for once: on a virtual machine each answer is a trap.
bool streams_into_l1(Isa isa);

/// Such as "first choice, by 2.0 multiply-adds per cycle and an L2 of 512 KiB".
std::string to_text(const CoreFacts& core);

}  // namespace headroom::simd
