// One attention layer in its files: which tensors, how they lie, and the shape that they give.
#pragma once

#include "headroom/export.h"
#include "headroom/load_weights.hpp"
#include "weights/layer/stored_parts.hpp"
#include "weights/tensor_set.hpp"

namespace headroom::weights {

/// @throws as `load_weights`, but for what the values say.
HEADROOM_API StoredLayer find_stored_layer(TensorSet& set, const WeightsOptions& options);

}  // namespace headroom::weights
