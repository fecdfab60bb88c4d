#include "record/peaks.hpp"

#include <optional>

#include "machine/meters/peak.hpp"
#include "program/json_text.hpp"

namespace headroom::record {
namespace {

using nlohmann::ordered_json;

ordered_json by_threads(const std::map<int, double>& values) {
  ordered_json all = ordered_json::object();
  for (const auto& [threads, value] : values) all[std::to_string(threads)] = value;
  return all;
}

// A name such as "2". 0 for any other.
int threads_of(const std::string& name) {
  constexpr std::size_t kMostDigits = 6;
  if (name.empty() || name.size() > kMostDigits) return 0;
  if (name.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::stoi(name);
}

std::map<int, double> values_at(const ordered_json& environment, const char* place) {
  std::map<int, double> values;
  const ordered_json& all = value_at(environment, place);
  if (!all.is_object()) return values;
  for (const auto& [name, value] : all.items()) {
    const int threads = threads_of(name);
    if (threads > 0 && value.is_number() && value.get<double>() > 0) {
      values[threads] = value.get<double>();
    }
  }
  return values;
}

std::optional<double> value_of(const std::map<int, double>& values, int threads) {
  const auto value = values.find(threads);
  return value == values.end() ? std::nullopt : std::optional(value->second);
}

}  // namespace

std::string Peaks::why_not_held(int threads) const {
  machine::FmaPeak peak;
  peak.gflops = value_of(fma_gflops, threads).value_or(0);
  peak.sustained_gflops = value_of(sustained_gflops, threads).value_or(0);
  if (!(peak.gflops > 0 && peak.sustained_gflops > 0)) return "";
  peak.clock_ghz = value_of(clock_ghz, threads);
  peak.sustained_clock_ghz = value_of(sustained_clock_ghz, threads);
  return peak.why_not_held();
}

ordered_json to_json(const Peaks& peaks) {
  return {{"isa", headroom::to_string(peaks.isa)},
          {"fma_gflops_by_threads", by_threads(peaks.fma_gflops)},
          {"tile_gflops_by_threads", by_threads(peaks.tile_gflops)},
          {"read_gb_per_s_by_threads", by_threads(peaks.read_gbs)},
          {"sustained_fma_gflops_by_threads", by_threads(peaks.sustained_gflops)},
          {"clock_ghz_by_threads", by_threads(peaks.clock_ghz)},
          {"sustained_clock_ghz_by_threads", by_threads(peaks.sustained_clock_ghz)}};
}

Peaks peaks_of(const ordered_json& environment) {
  Peaks peaks;
  const ordered_json& isa = value_at(environment, "/peaks/isa");
  if (isa.is_string()) peaks.isa = parse_isa(isa.get<std::string>()).value_or(peaks.isa);
  peaks.fma_gflops = values_at(environment, "/peaks/fma_gflops_by_threads");
  peaks.tile_gflops = values_at(environment, "/peaks/tile_gflops_by_threads");
  peaks.read_gbs = values_at(environment, "/peaks/read_gb_per_s_by_threads");
  peaks.sustained_gflops = values_at(environment, "/peaks/sustained_fma_gflops_by_threads");
  peaks.clock_ghz = values_at(environment, "/peaks/clock_ghz_by_threads");
  peaks.sustained_clock_ghz = values_at(environment, "/peaks/sustained_clock_ghz_by_threads");
  return peaks;
}

}  // namespace headroom::record
