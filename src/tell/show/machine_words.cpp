#include "show/machine_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "show/shares.hpp"

namespace headroom::show {
namespace {

using nlohmann::ordered_json;

struct Named {
  const char* key;
  const char* name;
};

constexpr Named kConditions[] = {{"governor", "governor"},
                                 {"turbo", "turbo"},
                                 {"load", "load"},
                                 {"huge_pages", "huge pages"},
                                 {"openmp_wait_policy", "OpenMP wait policy"}};

// Old records do not name them, and then there is nothing to say.
constexpr Named kUsage[] = {
    {"energy", "energy"}, {"counters", "counters"}, {"throttling", "throttling"}};

constexpr const char* kClock = "clock_ghz";

// Empty for what is none of the kinds that a condition has.
std::string value_words(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_number()) return fmt::format("{:.2f}", value.get<double>());
  return "";
}

std::string why_not(const ordered_json& environment, const std::string& key) {
  return text_at(environment, ("/conditions/unavailable/" + key).c_str(), "not known");
}

// " at 3.40 GHz", or nothing.
std::string at_clock(const std::map<int, double>& clocks, int threads) {
  const auto clock = clocks.find(threads);
  return clock == clocks.end() ? "" : fmt::format(" at {:.2f} GHz", clock->second);
}

}  // namespace

std::vector<std::string> condition_lines(const ordered_json& environment) {
  std::vector<std::string> known, lines;
  for (const Named& condition : kConditions) {
    const std::string place = std::string("/conditions/") + condition.key;
    const std::string value = value_words(value_at(environment, place.c_str()));
    if (value.empty()) {
      lines.push_back(fmt::format("{} {}", condition.name, why_not(environment, condition.key)));
    } else {
      known.push_back(fmt::format("{} {}", condition.name, value));
    }
  }
  if (!known.empty()) lines.insert(lines.begin(), fmt::format("{}", fmt::join(known, ", ")));
  const ordered_json& now = value_at(environment, "/conditions");
  for (const Named& usage : kUsage) {
    if (!now.is_object() || !now.contains(usage.key)) continue;
    const std::string value = value_words(now.at(usage.key));
    lines.push_back(
        fmt::format("{} {}", usage.name, value.empty() ? why_not(environment, usage.key) : value));
  }
  return lines;
}

std::string clock_words(const ordered_json& environment) {
  const ordered_json& clock = value_at(environment, "/conditions/clock_ghz");
  if (clock.is_number()) return fmt::format("{:.2f} GHz", clock.get<double>());
  return why_not(environment, kClock);
}

std::string unit_words(const ordered_json& environment) {
  std::vector<std::string> names;
  const ordered_json& units = value_at(environment, "/available_units");
  if (units.is_array()) {
    for (const ordered_json& unit : units) {
      if (unit.is_string()) names.push_back(unit.get<std::string>());
    }
  }
  std::string words =
      fmt::format("{} (available: {})", text_at(environment, "/unit"), fmt::join(names, ", "));
  const ordered_json& missing = value_at(environment, "/missing_units");
  const std::string fp16 = text_at(environment, "/fp16_tiles");
  if (fp16 == "announced") words += "; tiles multiply fp16";
  if (fp16 == "forced") words += "; tiles are said to multiply fp16 (HEADROOM_AMX_FP16)";
  if (!missing.is_object()) return words;
  for (const auto& [unit, reason] : missing.items()) {
    if (reason.is_string()) words += fmt::format("; no {}: {}", unit, reason.get<std::string>());
  }
  return words;
}

std::string last_level_words(const ordered_json& environment) {
  const ordered_json& total = value_at(environment, "/processor/last_level_total_bytes");
  if (!total.is_number_integer()) return "";
  const auto bytes = total.get<std::int64_t>();
  if (bytes <= 0) return "last level of all cores not known";
  return fmt::format("last level of all cores {}", format_bytes(bytes));
}

namespace {

std::string sustained_words(const record::Peaks& peaks, int threads) {
  const std::string not_held = peaks.why_not_held(threads);
  if (!not_held.empty()) return fmt::format(", only in bursts ({})", not_held);
  const auto sustained = peaks.sustained_gflops.find(threads);
  if (sustained == peaks.sustained_gflops.end()) return "";
  return fmt::format(", sustained {:.1f}{}", sustained->second,
                     at_clock(peaks.sustained_clock_ghz, threads));
}

std::string tile_words(const record::Peaks& peaks, int threads, double peak) {
  const auto tile = peaks.tile_gflops.find(threads);
  if (tile == peaks.tile_gflops.end()) return "";
  const double share = tile->second / peak;
  return fmt::format(
      "; register tiles from the L1 {:.1f} GFLOP/s ({} of the multiply-adds{})", tile->second,
      format_share(share),
      above_limit(share) ? ", which were measured while the machine was slower" : "");
}

}  // namespace

std::vector<std::string> product_peak_lines(const record::Peaks& peaks, int threads) {
  std::vector<std::string> lines;
  const auto f32 = peaks.fma_gflops.find(threads);
  for (const auto& [numbers, rates] : peaks.product_gflops) {
    const auto rate = rates.find(threads);
    if (rate == rates.end()) continue;
    std::string line = fmt::format("{} {:.1f} GFLOP/s", headroom::to_string(numbers), rate->second);
    if (f32 != peaks.fma_gflops.end()) {
      line += fmt::format(" ({:.2f} x the multiply-adds)", rate->second / f32->second);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string fma_peak_words(const record::Peaks& peaks, int threads) {
  const auto peak = peaks.fma_gflops.find(threads);
  if (peak == peaks.fma_gflops.end()) return "";
  return fmt::format("{:.1f} GFLOP/s{}{}{}", peak->second, at_clock(peaks.clock_ghz, threads),
                     sustained_words(peaks, threads), tile_words(peaks, threads, peak->second));
}

}  // namespace headroom::show
