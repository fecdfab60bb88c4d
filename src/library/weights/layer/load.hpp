// Reads the values of a stored layer.
#pragma once

#include <string>
#include <vector>

#include "headroom/export.h"
#include "headroom/load_weights.hpp"
#include "weights/layer/stored_layer.hpp"

namespace headroom::weights {

/// What the values are like, whether they are kept or not.
struct Survey {
  std::vector<std::string> warnings;  ///< the first value of each tensor that is no finite number
  std::string fingerprint;            ///< of all bytes, and of how they lie
};

/// Reads all values and keeps none.
/// @throws FileError for a file that ends early, a float64 beyond float32, and with `strict` for a
///         value that is no finite number.
HEADROOM_API Survey survey(const StoredLayer& layer, bool strict);

/// @throws as `load_weights`
HEADROOM_API LayerWeights load(StoredLayer layer, const WeightsOptions& options);

/// Bytes of memory that `load` takes.
HEADROOM_API std::int64_t bytes_to_load(const StoredLayer& layer);

}  // namespace headroom::weights
