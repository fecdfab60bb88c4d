// Where two recorded environments differ, value by value.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace headroom {

/// A value of an environment that is compared.
struct Field {
  const char* place;  ///< a JSON pointer such as `/build/compiler`
  const char* name;   ///< as people call it
};

/// Both values of a field, as text.
struct FieldDifference {
  std::string name, first, second;
};

/// In the order of the fields; a value that is missing equals null alone.
std::vector<FieldDifference> differing_fields(const nlohmann::ordered_json& first,
                                              const nlohmann::ordered_json& second,
                                              std::span<const Field> fields);

/// A value as it stands in a message: text in quotes, anything long cut short.
/// @param missing what stands for null
std::string shown(const nlohmann::ordered_json& value, const char* missing = "not recorded");

}  // namespace headroom
