#include "store/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/text/fingerprint.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"

namespace headroom::store {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kLongestName = 60;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What the name of a folder may be on any system, and what no shell or path reads as more.
std::string folder_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool kept = is_plain(c) || (!name.empty() && (c == '.' || c == '_' || c == '+'));
    if (kept) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  name.resize(std::min(name.size(), kLongestName));
  while (!name.empty() && !is_plain(name.back())) name.pop_back();
  return name.empty() ? "unknown" : name;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

bool has_tiles(const ordered_json& environment) {
  const ordered_json& units = value_at(environment, "/available_units");
  return units.is_array() && std::find(units.begin(), units.end(), "amx") != units.end();
}

std::string highest_level(const ordered_json& environment) {
  const ordered_json& levels = value_at(environment, "/available_isas");
  const bool known = levels.is_array() && !levels.empty() && levels.back().is_string();
  return known ? levels.back().get<std::string>() : "unknown";
}

std::int64_t cores_of(const ordered_json& environment) {
  const ordered_json& cores = value_at(environment, "/allowed_cores");
  return cores.is_number_integer() ? cores.get<std::int64_t>() : 0;
}

// Only what every version has recorded: the fingerprint must not change with the program.
std::string fingerprint_of(const ordered_json& environment) {
  Fingerprint fingerprint;
  for (const char* place : {"/processor/name", "/processor/vendor", "/processor/architecture"}) {
    fingerprint.add(text_at(environment, place) + "\n");
  }
  const ordered_json& caches = value_at(environment, "/processor/caches");
  if (caches.is_array()) {
    for (const ordered_json& cache : caches)
      fingerprint.add(value_at(cache, "/bytes").dump() + "\n");
  }
  fingerprint.add(highest_level(environment));
  fingerprint.add(has_tiles(environment) ? "\namx\n" : "\n");
  fingerprint.add(std::to_string(cores_of(environment)));
  return fingerprint.text().substr(0, 6);
}

}  // namespace

Origin origin_of(const ordered_json& environment) {
  const std::string name = text_at(environment, "/processor/name");
  const std::string cores =
      counted(static_cast<std::size_t>(std::max<std::int64_t>(0, cores_of(environment))), "core");
  const std::string known_name = folder_name(lower(name)).substr(0, 32);
  return {folder_name(
              fmt::format("{}-{}-{}", known_name, folder_name(cores), fingerprint_of(environment))),
          folder_name(fmt::format("{}-{}", text_at(environment, "/headroom"),
                                  text_at(environment, "/build/git_revision"))),
          fmt::format("{}, {}, {}{}", name, cores, highest_level(environment),
                      has_tiles(environment) ? ", amx" : ""),
          text_at(environment, "/build/committed", ""), text_at(environment, "/time", "")};
}

}  // namespace headroom::store
