#include "json/json_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

using nlohmann::ordered_json;

// A value, short enough for a message, without nested values.
std::string excerpt(const ordered_json& value) {
  constexpr std::size_t kMost = 60;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  const std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return shown_start(text, kMost);
}

bool is_whole(const ordered_json& value, std::int64_t least, std::int64_t most) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    return false;
  }
  return value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
}

}  // namespace

JsonFields::JsonFields(const ordered_json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) {
    throw InvalidArgument(fmt::format("{}: found {}; allowed is an object",
                                      path_.empty() ? "line" : path_, excerpt(object_)));
  }
}

void JsonFields::fail(const char* key, const std::string& allowed) const {
  throw InvalidArgument(fmt::format("{}: found {}; allowed is {}", name(key),
                                    has(key) ? excerpt(object_.at(key)) : "nothing", allowed));
}

const ordered_json& JsonFields::at(const char* key) const {
  if (!has(key)) fail(key, "a value: the record is not complete");
  return object_.at(key);
}

std::vector<JsonFields> JsonFields::objects(const char* key, std::size_t most) const {
  const ordered_json& list = at(key);
  if (!list.is_array() || list.empty() || list.size() > most) {
    fail(key, fmt::format("a list of 1 to {} objects", most));
  }
  std::vector<JsonFields> all;
  for (const ordered_json& object : list) {
    all.emplace_back(object, fmt::format("{}[{}]", name(key), all.size()));
  }
  return all;
}

std::string JsonFields::text(const char* key) const {
  if (!at(key).is_string()) fail(key, "text");
  return shown_text(at(key).get_ref<const std::string&>());
}

bool JsonFields::flag(const char* key) const {
  if (!at(key).is_boolean()) fail(key, "true or false");
  return at(key).get<bool>();
}

std::int64_t JsonFields::whole(const char* key, std::int64_t least, std::int64_t most) const {
  const ordered_json& value = at(key);
  if (!is_whole(value, least, most)) {
    fail(key, fmt::format("a whole number from {} to {}", least, most));
  }
  return value.get<std::int64_t>();
}

std::vector<std::int64_t> JsonFields::wholes(const char* key, std::int64_t least,
                                             std::int64_t most) const {
  const ordered_json& list = at(key);
  const bool fits = list.is_array() &&
                    std::all_of(list.begin(), list.end(),
                                [&](const auto& value) { return is_whole(value, least, most); });
  if (!fits) fail(key, fmt::format("a list of whole numbers from {} to {}", least, most));
  return list.get<std::vector<std::int64_t>>();
}

double JsonFields::not_negative(const char* key) const {
  const double value = real(key, "a number of 0 and above");
  if (!(value >= 0)) fail(key, "a number of 0 and above");
  return value;
}

double JsonFields::positive(const char* key) const {
  const double value = real(key, "a number above 0");
  if (!(value > 0)) fail(key, "a number above 0");
  return value;
}

std::vector<double> JsonFields::positives(const char* key) const {
  constexpr const char* kAllowed = "a list of numbers above 0, at least one";
  const ordered_json& list = at(key);
  if (!list.is_array() || list.empty()) fail(key, kAllowed);
  std::vector<double> values;
  values.reserve(list.size());
  for (const ordered_json& value : list) {
    if (!value.is_number() || !(value.get<double>() > 0)) {
      throw InvalidArgument(fmt::format("{}: found {} in place {}; allowed is {}", name(key),
                                        excerpt(value), values.size(), kAllowed));
    }
    values.push_back(value.get<double>());
  }
  return values;
}

// JSON has neither NaN nor infinity, and the parser refuses 1e999.
double JsonFields::real(const char* key, const char* allowed) const {
  if (!at(key).is_number()) fail(key, allowed);
  return at(key).get<double>();
}

}  // namespace headroom
