// The differences between two recorded environments, value by value.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace headroom {

/// A value to compare.
struct Field {
  const char* place;  ///< a JSON pointer such as `/build/compiler`
  const char* name;   ///< as shown to people
};

/// Both values of a field, as text.
struct FieldDifference {
  std::string name, first, second;
};

/// In the order of the fields; a missing value equals only null.
std::vector<FieldDifference> differing_fields(const nlohmann::ordered_json& first,
                                              const nlohmann::ordered_json& second,
                                              std::span<const Field> fields);

/// A value as shown in a message: text in quotes, long values truncated.
/// @param missing shown for null
std::string shown(const nlohmann::ordered_json& value, const char* missing = "not recorded");

}  // namespace headroom
