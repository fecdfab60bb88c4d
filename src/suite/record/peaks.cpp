#include "record/peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

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
std::int64_t number_of(const std::string& name, std::size_t most_digits) {
  if (name.empty() || name.size() > most_digits) return 0;
  if (name.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::stoll(name);
}

int threads_of(const std::string& name) {
  constexpr std::size_t kMostDigits = 6;
  return static_cast<int>(number_of(name, kMostDigits));
}

template <class Key, class KeyOf>
std::map<Key, double> values_of(const ordered_json& all, KeyOf key_of) {
  std::map<Key, double> values;
  if (!all.is_object()) return values;
  for (const auto& [name, value] : all.items()) {
    const Key key = key_of(name);
    if (key > 0 && value.is_number() && value.template get<double>() > 0) {
      values[key] = value.template get<double>();
    }
  }
  return values;
}

std::map<int, double> values_at(const ordered_json& environment, const char* place) {
  return values_of<int>(value_at(environment, place), threads_of);
}

constexpr const char* kReadOfSet = "read_gb_per_s_by_threads_and_bytes";

std::map<int, std::map<std::int64_t, double>> reads_of_sets(const ordered_json& environment) {
  constexpr std::size_t kMostDigits = 18;
  std::map<int, std::map<std::int64_t, double>> reads;
  const ordered_json& all = value_at(environment, fmt::format("/peaks/{}", kReadOfSet).c_str());
  if (!all.is_object()) return reads;
  for (const auto& [name, sizes] : all.items()) {
    auto values = values_of<std::int64_t>(
        sizes, [](const std::string& bytes) { return number_of(bytes, kMostDigits); });
    if (threads_of(name) > 0 && !values.empty()) reads[threads_of(name)] = std::move(values);
  }
  return reads;
}

std::optional<double> value_of(const std::map<int, double>& values, int threads) {
  const auto value = values.find(threads);
  return value == values.end() ? std::nullopt : std::optional(value->second);
}

constexpr const char* kProducts = "gflops_by_precision_and_threads";

std::map<Numbers, std::map<int, double>> products_of(const ordered_json& environment) {
  std::map<Numbers, std::map<int, double>> products;
  const ordered_json& all = value_at(environment, fmt::format("/peaks/{}", kProducts).c_str());
  if (!all.is_object()) return products;
  for (const auto& [name, rates] : all.items()) {
    const std::optional<Numbers> numbers = numbers_named(name);
    auto values = values_of<int>(rates, threads_of);
    if (numbers && !values.empty()) products[*numbers] = std::move(values);
  }
  return products;
}

// Empty for a link that says less than both.
std::optional<Link> link_of(const ordered_json& environment) {
  const ordered_json& latency = value_at(environment, "/peaks/link/latency_s");
  const ordered_json& rate = value_at(environment, "/peaks/link/bytes_per_s");
  if (!latency.is_number() || !rate.is_number()) return std::nullopt;
  const Link link{latency.get<double>(), rate.get<double>()};
  return link.latency_s >= 0 && link.bytes_per_s > 0 ? std::optional(link) : std::nullopt;
}

// Products of bf16 parts that stand for one product. What is stored as bf16 has one part.
int parts_products(const Numbers& numbers) {
  const bool stored = numbers.dtype == Dtype::bf16;
  switch (numbers.precision) {
    case Precision::bf16x9:
      return stored ? 3 : 9;
    case Precision::bf16x6:
      return stored ? 3 : 6;
    case Precision::fp16x3:
    case Precision::bf16x3:
      return stored ? 2 : 3;
    default:
      return 1;
  }
}

}  // namespace

std::vector<Numbers> all_numbers() {
  std::vector<Numbers> all;
  for (const Precision precision : kAllPrecisions) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      all.push_back({precision, dtype});
      for (const Storage weights : {Storage::f32, Storage::bf16, Storage::q8, Storage::q4}) {
        if (weights != storage_of(dtype)) all.push_back({precision, dtype, weights});
      }
      for (const Storage cache : {Storage::f32, Storage::bf16, Storage::q8}) {
        if (cache != storage_of(dtype)) all.push_back({precision, dtype, std::nullopt, cache});
      }
    }
  }
  return all;
}

std::optional<Numbers> numbers_named(std::string_view name) {
  for (const Numbers& numbers : all_numbers()) {
    if (headroom::to_string(numbers) == name) return numbers;
  }
  return std::nullopt;
}

std::optional<double> Peaks::product_roof(const Numbers& numbers, int threads) const {
  if (numbers.precision == Precision::f32) return value_of(fma_gflops, threads);
  const auto rate = [&](const Numbers& measured) -> std::optional<double> {
    const auto found = product_gflops.find(measured);
    return found == product_gflops.end() ? std::nullopt : value_of(found->second, threads);
  };
  if (const std::optional<double> own = rate(numbers)) return own;
  if (numbers.precision == Precision::int8) return std::nullopt;  // bytes, not parts of bf16
  const std::optional<double> whole = rate({Precision::bf16, Dtype::f32});
  return whole ? std::optional(*whole / parts_products(numbers)) : std::nullopt;
}

std::int64_t size_class(std::int64_t bytes) {
  constexpr int kLeast = 16;
  constexpr int kMost = 62;
  const double log = std::log2(static_cast<double>(std::max<std::int64_t>(bytes, 1)));
  return std::int64_t{1} << std::clamp(static_cast<int>(std::lround(log)), kLeast, kMost);
}

std::optional<double> Peaks::read_roof(int threads, std::int64_t bytes, bool cold) const {
  if (cold) return value_of(read_gbs, threads);
  const auto sets = read_gbs_of_set.find(threads);
  if (sets == read_gbs_of_set.end()) return std::nullopt;
  const auto rate = sets->second.find(size_class(bytes));
  return rate == sets->second.end() ? std::nullopt : std::optional(rate->second);
}

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
  ordered_json json = {{"isa", headroom::to_string(peaks.target.isa)},
                       {"unit", headroom::to_string(peaks.target.unit)},
                       {"fma_gflops_by_threads", by_threads(peaks.fma_gflops)},
                       {"tile_gflops_by_threads", by_threads(peaks.tile_gflops)},
                       {"read_gb_per_s_by_threads", by_threads(peaks.read_gbs)},
                       {"sustained_fma_gflops_by_threads", by_threads(peaks.sustained_gflops)},
                       {"clock_ghz_by_threads", by_threads(peaks.clock_ghz)},
                       {"sustained_clock_ghz_by_threads", by_threads(peaks.sustained_clock_ghz)}};
  for (const auto& [threads, rates] : peaks.read_gbs_of_set) {
    ordered_json& sizes = json[kReadOfSet][std::to_string(threads)];
    for (const auto& [bytes, rate] : rates) sizes[std::to_string(bytes)] = rate;
  }
  for (const auto& [numbers, rates] : peaks.product_gflops) {
    json[kProducts][headroom::to_string(numbers)] = by_threads(rates);
  }
  if (peaks.idle_watts) json["idle_watts"] = *peaks.idle_watts;
  if (peaks.link) {
    json["link"] = {{"latency_s", peaks.link->latency_s}, {"bytes_per_s", peaks.link->bytes_per_s}};
  }
  return json;
}

Peaks peaks_of(const ordered_json& environment) {
  Peaks peaks;
  const ordered_json& isa = value_at(environment, "/peaks/isa");
  if (isa.is_string()) {
    peaks.target.isa = parse_isa(isa.get<std::string>()).value_or(peaks.target.isa);
  }
  const ordered_json& unit = value_at(environment, "/peaks/unit");
  if (unit.is_string()) {
    peaks.target.unit = parse_unit(unit.get<std::string>()).value_or(peaks.target.unit);
  }
  peaks.fma_gflops = values_at(environment, "/peaks/fma_gflops_by_threads");
  peaks.tile_gflops = values_at(environment, "/peaks/tile_gflops_by_threads");
  peaks.read_gbs = values_at(environment, "/peaks/read_gb_per_s_by_threads");
  peaks.sustained_gflops = values_at(environment, "/peaks/sustained_fma_gflops_by_threads");
  peaks.clock_ghz = values_at(environment, "/peaks/clock_ghz_by_threads");
  peaks.sustained_clock_ghz = values_at(environment, "/peaks/sustained_clock_ghz_by_threads");
  peaks.read_gbs_of_set = reads_of_sets(environment);
  peaks.product_gflops = products_of(environment);
  const ordered_json& idle = value_at(environment, "/peaks/idle_watts");
  if (idle.is_number() && idle.get<double>() > 0) peaks.idle_watts = idle.get<double>();
  peaks.link = link_of(environment);
  return peaks;
}

}  // namespace headroom::record
