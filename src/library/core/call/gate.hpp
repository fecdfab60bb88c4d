// The gate of a layer: what its heads give, times the sigmoid of another product of x.
#pragma once

#include <cstdint>

#include "headroom/export.h"

namespace headroom {

/// `values[i] *= sigmoid(gates[i])`; within 4 units of the last place of the sigmoid.
HEADROOM_API void apply_gate(const float* gates, std::int64_t count, float* values);

}  // namespace headroom
