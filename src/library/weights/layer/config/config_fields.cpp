#include "weights/layer/config/config_fields.hpp"

#include <fmt/format.h>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::int64_t kMost = std::int64_t{1} << 31;

}  // namespace

void ConfigFields::fail(std::string_view field, std::string_view allowed) const {
  throw FileError(fmt::format("{}: '{}' is not {}; correct the file or move it away",
                              shown_path(path_), field, allowed));
}

const json* ConfigFields::find_in(const json& object, std::string_view name) {
  const auto place = object.find(name);
  return place == object.end() || place->is_null() ? nullptr : &*place;
}

const json* ConfigFields::of_layer(std::string_view name) const {
  const json* list = find(name);
  if (list == nullptr || !list->is_array() || !layer_) return nullptr;
  const auto place = static_cast<std::size_t>(*layer_);
  return place < list->size() ? &list->at(place) : nullptr;
}

bool ConfigFields::is_true(std::string_view name) const {
  const json* value = find(name);
  return value != nullptr && *value == true;
}

bool ConfigFields::is_false(std::string_view name) const {
  const json* value = find(name);
  return value != nullptr && *value == false;
}

std::optional<std::int64_t> ConfigFields::whole(
    std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const json* value = find(name);
    if (value == nullptr) continue;
    const bool fits = value->is_number_unsigned() && value->get<std::uint64_t>() > 0 &&
                      value->get<std::uint64_t>() <= kMost;
    if (!fits) fail(name, fmt::format("a whole number from 1 to {}", kMost));
    return value->get<std::int64_t>();
  }
  return std::nullopt;
}

std::int64_t ConfigFields::required(std::string_view name, std::string_view why) const {
  const auto value = whole({name});
  if (!value) fail(name, fmt::format("there, which {}", why));
  return *value;
}

double ConfigFields::positive(const json& value, std::string_view name) const {
  if (!value.is_number() || !(value.get<double>() > 0)) fail(name, "a number above 0");
  return value.get<double>();
}

std::optional<double> ConfigFields::number(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return positive(*value, name);
}

}  // namespace headroom::weights
