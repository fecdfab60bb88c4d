// A shape as results and tuning files record it.
#pragma once

#include <nlohmann/json.hpp>

#include "core/json_fields.hpp"
#include "headroom/export.h"
#include "headroom/shape.hpp"

namespace headroom {

HEADROOM_API nlohmann::ordered_json to_json(const Shape& shape);

/// What `to_json` wrote; the dropout seed keeps its default.
/// @throws InvalidArgument naming the field, or for a shape that is not valid.
HEADROOM_API Shape shape_from_json(const JsonFields& fields);

}  // namespace headroom
