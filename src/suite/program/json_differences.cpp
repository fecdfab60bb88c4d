#include "program/json_differences.hpp"

#include <fmt/format.h>

#include "program/json_text.hpp"

namespace headroom {

using nlohmann::ordered_json;

std::vector<FieldDifference> differing_fields(const ordered_json& first, const ordered_json& second,
                                              std::span<const Field> fields) {
  std::vector<FieldDifference> differences;
  for (const Field& field : fields) {
    const ordered_json& a = value_at(first, field.place);
    const ordered_json& b = value_at(second, field.place);
    if (a != b) differences.push_back({field.name, shown(a), shown(b)});
  }
  return differences;
}

std::string shown(const ordered_json& value, const char* missing) {
  constexpr std::size_t kMost = 120;
  if (value.is_null()) return missing;
  if (value.is_string()) return fmt::format("'{}'", value.get<std::string>());
  const std::string text = to_text(value);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

}  // namespace headroom
