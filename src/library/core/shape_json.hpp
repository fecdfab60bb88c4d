// A shape as results and tuning files record it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/json_fields.hpp"
#include "headroom/export.h"
#include "headroom/shape.hpp"

namespace headroom {

/// `none`, `neighbours` or `halves`.
HEADROOM_API std::string_view to_string(Rotary::Pairs pairs);

/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<Rotary::Pairs> parse_pairs(std::string_view name);

/// Fields that came later are there only if they are not the default, so that a plain layer has the
/// same line as ever.
HEADROOM_API nlohmann::ordered_json to_json(const Shape& shape);

/// What `to_json` wrote; the dropout seed keeps its default.
/// @throws InvalidArgument naming the field, or for a shape that is not valid.
HEADROOM_API Shape shape_from_json(const JsonFields& fields);

}  // namespace headroom
