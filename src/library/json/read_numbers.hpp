// Precision and dtype as files have them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/element/layer_numbers.hpp"
#include "headroom/export.h"
#include "json/json_fields.hpp"

namespace headroom {

/// @throws FileError if there is none, or it is no name of a precision
HEADROOM_API Precision read_precision(const JsonFields& fields);

/// @throws FileError if there is none, or it is no name of a dtype
HEADROOM_API Dtype read_dtype(const JsonFields& fields);

/// Both, and "weights_dtype" and "cache_dtype" if there are any.
/// @throws FileError as these, or if one is no storage of such or the same as the dtype
HEADROOM_API Numbers read_numbers(const JsonFields& fields);

/// Writes "weights_dtype" and "cache_dtype" where they are not the dtype.
HEADROOM_API void add_storage(const Numbers& numbers, nlohmann::ordered_json& to);

}  // namespace headroom
