// Fields of the classes that read a family's configurations.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace headroom::weights {

/// The fields of a family's class in transformers 5.24 that say something of attention, each with
/// its value where a file leaves it out, or null. `tests/models/class_fields.py` writes them.
/// @return null for a family without a class
const nlohmann::json* find_class_fields(std::string_view family);

}  // namespace headroom::weights
