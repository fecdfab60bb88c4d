// Whether the processor's tiles multiply fp16, beside bfloat16.
#pragma once

#include "headroom/export.h"

namespace headroom {

enum class Fp16Tiles {
  none,
  announced,  ///< CPUID says so
  forced,     ///< `HEADROOM_AMX_FP16` is 1: some hypervisors hide what their processor has
};

/// CPUID alone, unless the environment variable `HEADROOM_AMX_FP16` is set: 1 takes the instruction
/// for present, 0 for absent. Nothing is tried: where 1 is wrong, the first product ends the
/// process.
/// @throws Unavailable if the variable is anything else
HEADROOM_API Fp16Tiles fp16_tiles();

}  // namespace headroom
