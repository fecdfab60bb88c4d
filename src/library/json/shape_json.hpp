// A shape as results and tuning files record it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "core/case.hpp"
#include "headroom/export.h"
#include "json/json_fields.hpp"

namespace headroom {

/// `none`, `neighbours` or `halves`.
HEADROOM_API std::string_view to_string(Rotary::Pairs pairs);

/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<Rotary::Pairs> parse_pairs(std::string_view name);

/// `none`, `head` or `width`.
HEADROOM_API std::string_view to_string(QueryKeyNorm::Over over);

/// Inverse of `to_string`; empty for an unknown name.
HEADROOM_API std::optional<QueryKeyNorm::Over> parse_over(std::string_view name);

/// A number that most shapes do not have: absent where it is recorded as 0 or false.
struct ShapeField {
  const char* name;
  std::variant<std::int64_t Case::*, double Case::*, bool Case::*> member;
};
/// All of them, as they are recorded and exported.
HEADROOM_API std::span<const ShapeField> shape_fields();

/// Fields that came later are there only if they are not the default, so that a plain layer has the
/// same line as ever.
HEADROOM_API nlohmann::ordered_json to_json(const Case& shape);

/// What `to_json` wrote; the dropout seed keeps its default.
/// @throws InvalidArgument naming the field, or for a shape that is not valid.
HEADROOM_API Case shape_from_json(const JsonFields& fields);

}  // namespace headroom
