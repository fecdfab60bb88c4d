// Precision and dtype as files have them.
#pragma once

#include "headroom/export.h"
#include "headroom/precision.hpp"
#include "json/json_fields.hpp"

namespace headroom {

/// @throws FileError if there is none, or it is no name of a precision
HEADROOM_API Precision read_precision(const JsonFields& fields);

/// @throws FileError if there is none, or it is no name of a dtype
HEADROOM_API Dtype read_dtype(const JsonFields& fields);

}  // namespace headroom
