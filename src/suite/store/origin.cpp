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

std::int64_t cache_bytes(const ordered_json& environment, const char* name) {
  const ordered_json& caches = value_at(environment, "/processor/caches");
  if (!caches.is_array()) return 0;
  for (const ordered_json& cache : caches) {
    const ordered_json& bytes = value_at(cache, "/bytes");
    if (text_at(cache, "/name", "") == name && bytes.is_number_integer()) {
      return bytes.get<std::int64_t>();
    }
  }
  return 0;
}

// Whose core it is, where a cloud only says "AMD EPYC", by what every version has recorded: the
// L1d grew to 48 KiB with Zen 5, and cores without AVX-512 share 32 MiB of L3 since Zen 3.
std::string core_class(const ordered_json& environment) {
  constexpr std::int64_t kKiB = 1024;
  if (text_at(environment, "/processor/vendor") != "AuthenticAMD") return "";
  const std::string level = highest_level(environment);
  const std::int64_t l1 = cache_bytes(environment, "L1d");
  if (level == "avx512" && l1 == 48 * kKiB) return "Zen 5";
  if (level == "avx512" && l1 == 32 * kKiB) return "Zen 4";
  const bool zen3 = level == "avx2" && cache_bytes(environment, "L2") == 512 * kKiB &&
                    cache_bytes(environment, "L3") >= 32 * kKiB * kKiB;
  return zen3 ? "Zen 3" : "";
}

// "Intel(R) Xeon(R) Processor @ 2.60GHz" says no more than "Intel Xeon".
std::string short_name(std::string name) {
  for (const std::string_view mark : {"(R)", "(r)", "(TM)", "(tm)"}) {
    for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark)) {
      name.erase(at, mark.size());
    }
  }
  name.erase(std::min(name.find(" @ "), name.size()));
  for (const std::string_view end : {" Processor", " CPU"}) {
    if (name.ends_with(end)) name.erase(name.size() - end.size());
  }
  return name;
}

// What tells processors of one name apart for a reader: the class of their cores, else tiles, else
// the level.
std::string kind_of(const ordered_json& environment) {
  std::string kind = core_class(environment);
  std::erase(kind, ' ');
  if (!kind.empty()) return lower(kind) + "-";
  if (has_tiles(environment)) return "amx-";
  const std::string level = highest_level(environment);
  return level == "unknown" ? "" : folder_name(level) + "-";
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
  const std::string known_name = folder_name(lower(short_name(name))).substr(0, 24);
  const std::string of_class = core_class(environment);
  return {folder_name(fmt::format("{}-{}{}-{}", known_name, kind_of(environment),
                                  folder_name(cores), fingerprint_of(environment))),
          folder_name(fmt::format("{}-{}", text_at(environment, "/headroom"),
                                  text_at(environment, "/build/git_revision"))),
          fmt::format("{}{}, {}, {}{}", name,
                      of_class.empty() ? "" : fmt::format(" ({} class)", of_class), cores,
                      highest_level(environment), has_tiles(environment) ? ", amx" : ""),
          text_at(environment, "/build/committed", ""), text_at(environment, "/time", "")};
}

}  // namespace headroom::store
