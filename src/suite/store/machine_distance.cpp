#include "store/machine_distance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "headroom/isa.hpp"
#include "program/json_text.hpp"
#include "record/peaks.hpp"

namespace headroom::store {
namespace {

using nlohmann::ordered_json;

constexpr double kVendor = 2;
constexpr double kModel = 0.5;
constexpr double kFamily = 1;
constexpr double kLevel = 4;
constexpr double kTiles = 3;
constexpr double kBf16Vectors = 1;
constexpr double kMultiplyAdds = 2;
constexpr double kL2 = 1;
constexpr double kCores = 1;
constexpr double kL1d = 0.5;
constexpr double kLastLevel = 0.25;

// Readings of one kind of core differ by less: a clock of this moment is part of them.
constexpr double kSameRate = 0.2;

double number_at(const ordered_json& json, const char* place) {
  const ordered_json& value = value_at(json, place);
  return value.is_number() ? value.get<double>() : 0;
}

bool has_unit(const ordered_json& environment, std::string_view name) {
  const ordered_json& units = value_at(environment, "/available_units");
  return units.is_array() && std::find(units.begin(), units.end(), name) != units.end();
}

double lanes_of(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return 16;
    case Isa::avx2:
      return 8;
    default:
      return 4;
  }
}

double multiply_adds_of(const record::Peaks& peaks) {
  const auto rate = peaks.fma_gflops.find(1);
  const auto clock = peaks.clock_ghz.find(1);
  if (rate == peaks.fma_gflops.end() || clock == peaks.clock_ghz.end()) return 0;
  const double per_cycle = rate->second / clock->second / 2;
  // Whole vectors of it: what a reading is off by is no property of the core.
  const double lanes = lanes_of(peaks.target.isa);
  return lanes * std::max(0.5, std::round(2 * per_cycle / lanes) / 2);
}

struct Caches {
  double l1d = 0, l2 = 0, last = 0;
};

Caches caches_of(const ordered_json& environment, double cores) {
  Caches found;
  const ordered_json& caches = value_at(environment, "/processor/caches");
  if (!caches.is_array()) return found;
  double total = 0;
  for (const ordered_json& cache : caches) {
    const std::string name = text_at(cache, "/name", "");
    const double bytes = number_at(cache, "/bytes");
    const double count = std::max(1.0, number_at(cache, "/count"));
    if (name == "L1d") found.l1d = bytes;
    if (name == "L2") found.l2 = bytes * std::min(1.0, count / std::max(1.0, cores));
    total = bytes * count;
  }
  const double recorded = number_at(environment, "/processor/last_level_total_bytes");
  found.last = recorded > 0 ? recorded : total;
  return found;
}

std::string family_of(const std::string& model) { return model.substr(0, model.find(',')); }

class Comparison {
 public:
  explicit Comparison(MachineDistance& found) : found_(found) {}

  // @return whether both tell it and it differs
  bool text(const char* name, const std::string& here, const std::string& other) {
    if (here.empty() || other.empty()) {
      found_.unknown.emplace_back(name);
      return false;
    }
    if (here != other) return true;
    found_.same.push_back(fmt::format("same {}", name));
    return false;
  }

  void unit(const char* name, bool here, bool other, double weight) {
    if (here == other) return;
    found_.distance += weight;
    found_.different.push_back(fmt::format("{} {}", other ? "with" : "without", name));
  }

  void size(const char* name, double here, double other, double weight) {
    if (!(here > 0 && other > 0)) {
      found_.unknown.emplace_back(name);
      return;
    }
    const double doublings = std::abs(std::log2(other / here));
    if (doublings < std::log2(1 + kSameRate)) {
      found_.same.push_back(fmt::format("same {}", name));
      return;
    }
    found_.distance += weight * doublings;
    found_.different.push_back(fmt::format("{:.3g} times the {}", other / here, name));
  }

  void add(double weight, const std::string& words) {
    found_.distance += weight;
    found_.different.push_back(words);
  }

 private:
  MachineDistance& found_;
};

}  // namespace

MachineFacts facts_of(const ordered_json& environment) {
  MachineFacts facts;
  facts.architecture = text_at(environment, "/processor/architecture", "");
  facts.vendor = text_at(environment, "/processor/vendor", "");
  facts.model = text_at(environment, "/processor/model", "");
  const ordered_json& levels = value_at(environment, "/available_isas");
  if (levels.is_array() && !levels.empty() && levels.back().is_string()) {
    facts.level = levels.back().get<std::string>();
  }
  facts.tiles = has_unit(environment, "amx");
  facts.bf16_vectors = has_unit(environment, "avx512_bf16");
  facts.multiply_adds = multiply_adds_of(record::peaks_of(environment));
  const double allowed = number_at(environment, "/allowed_cores");
  const Caches caches =
      caches_of(environment, std::max(allowed, number_at(environment, "/processor/cores")));
  facts.l1d = caches.l1d;
  facts.l2 = caches.l2;
  facts.last_level = allowed > 0 ? caches.last / allowed : 0;
  facts.cores = static_cast<std::int64_t>(allowed);
  return facts;
}

Nearness nearness_of(double distance) {
  constexpr double kVeryNear = 0.5;
  constexpr double kNear = 2;
  constexpr double kFar = 4;
  if (distance <= kVeryNear) return Nearness::very_near;
  if (distance <= kNear) return Nearness::near;
  return distance <= kFar ? Nearness::far : Nearness::very_far;
}

const char* to_string(Nearness nearness) {
  switch (nearness) {
    case Nearness::very_near:
      return "very near";
    case Nearness::near:
      return "near";
    case Nearness::far:
      return "far";
    default:
      return "very far";
  }
}

std::string MachineDistance::words() const {
  std::string text;
  const auto add = [&](const char* before, const std::vector<std::string>& parts) {
    if (parts.empty()) return;
    text += fmt::format("{}{}{}", text.empty() ? "" : "; ", before, fmt::join(parts, ", "));
  };
  add("", same);
  add("", different);
  add("not known: ", unknown);
  return text;
}

std::optional<MachineDistance> distance(const MachineFacts& here, const MachineFacts& other) {
  if (here.architecture != other.architecture) return std::nullopt;
  MachineDistance found;
  Comparison compare(found);
  const bool other_vendor = compare.text("vendor", here.vendor, other.vendor);
  if (other_vendor) {
    compare.add(kVendor, "another vendor");
  } else if (compare.text("model", here.model, other.model)) {
    const bool family = family_of(here.model) == family_of(other.model);
    compare.add(family ? kModel : kFamily, family ? "another model" : "another family");
  }
  if (compare.text("level", here.level, other.level)) {
    compare.add(kLevel, fmt::format("{} in place of {}", other.level, here.level));
  }
  compare.unit("tiles (AMX)", here.tiles, other.tiles, kTiles);
  compare.unit("vectors of bfloat16", here.bf16_vectors, other.bf16_vectors, kBf16Vectors);
  compare.size("multiply-adds a cycle", here.multiply_adds, other.multiply_adds, kMultiplyAdds);
  compare.size("L1d of a core", here.l1d, other.l1d, kL1d);
  compare.size("L2 of a core", here.l2, other.l2, kL2);
  compare.size("last level for each core", here.last_level, other.last_level, kLastLevel);
  compare.size("allowed cores", static_cast<double>(here.cores), static_cast<double>(other.cores),
               kCores);
  return found;
}

}  // namespace headroom::store
