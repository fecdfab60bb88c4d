#include "weights/layer/gguf/gguf_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "weights/tensor.hpp"

namespace headroom::weights {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostWhole = std::int64_t{1} << 31;

}  // namespace

GgufFields::GgufFields(std::filesystem::path path, const json& metadata,
                       std::optional<std::int64_t> layer)
    : path_(std::move(path)), metadata_(metadata), layer_(layer) {
  const auto place = metadata.find("general.architecture");
  if (place == metadata.end() || !place->is_string()) {
    throw FileError(
        fmt::format("{}: key 'general.architecture' is not there as a text; get the file again",
                    shown_path(path_)));
  }
  architecture_ = place->get<std::string>();
}

std::string GgufFields::shown(std::string_view key) const {
  return shown_name(fmt::format("{}.{}", architecture_, key));
}

void GgufFields::fail(std::string_view key, std::string_view allowed) const {
  throw FileError(fmt::format("{}: key '{}' is not {}; get the file again", shown_path(path_),
                              shown(key), allowed));
}

const json* GgufFields::find(std::string_view key) const {
  const auto place = metadata_.find(fmt::format("{}.{}", architecture_, key));
  return place == metadata_.end() ? nullptr : &*place;
}

const json* GgufFields::of_layer(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr || !value->is_array()) return value;
  const auto place = static_cast<std::size_t>(layer_.value_or(0));
  if (place >= value->size()) fail(key, "a list with a value for this layer");
  return &value->at(place);
}

std::optional<std::int64_t> GgufFields::whole(std::string_view key, std::int64_t least) const {
  const json* value = of_layer(key);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->is_number_integer() && *value >= least && *value <= kMostWhole;
  if (!fits) fail(key, fmt::format("a whole number from {} to {}", least, kMostWhole));
  return value->get<std::int64_t>();
}

std::optional<double> GgufFields::number(std::string_view key) const {
  const json* value = of_layer(key);
  if (value == nullptr) return std::nullopt;
  const double found = value->is_number() ? value->get<double>() : 0;
  if (!(found > 0) || std::isinf(found)) fail(key, "a number above 0");
  return found;
}

std::optional<double> GgufFields::number_or_zero(std::string_view key) const {
  const json* value = of_layer(key);
  if (value != nullptr && value->is_number() && *value == 0) return std::nullopt;
  return number(key);
}

std::optional<bool> GgufFields::truth(std::string_view key) const {
  const json* value = of_layer(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail(key, "a truth value");
  return value->get<bool>();
}

}  // namespace headroom::weights
