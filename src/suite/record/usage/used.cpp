#include "record/usage/used.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_fields.hpp"
#include "statistics/samples.hpp"

namespace headroom::record {
namespace {

using machine::UsageKind;
using machine::UsageSamples;
using nlohmann::ordered_json;
using Seconds = std::vector<double>;  // of each sample, per pass

// Per second of a pass. A rack uses less than a megawatt, and 10,000 cores of 10 GHz with ten
// instructions per cycle do 1e15 of them.
constexpr double kMostWatts = 1e6;
constexpr double kMostPerSecond = 1e15;
constexpr double kMostEvents = 1e9;

struct Rule {
  std::vector<double> UsageSamples::*kind;
  bool may_be_0;
  double most;
  bool per_second;
};

// A pass whose data fit in the caches misses none.
constexpr Rule kRules[] = {{&UsageSamples::joules, false, kMostWatts, true},
                           {&UsageSamples::instructions, false, kMostPerSecond, true},
                           {&UsageSamples::cycles, false, kMostPerSecond, true},
                           {&UsageSamples::cache_misses, true, kMostPerSecond, true},
                           {&UsageSamples::throttled, true, kMostEvents, false}};

bool fits(double value, const Rule& rule, double seconds) {
  const double most = rule.per_second ? rule.most * seconds : rule.most;
  return std::isfinite(value) && value <= most && (rule.may_be_0 ? value >= 0 : value > 0);
}

bool fits(const std::vector<double>& values, const Rule& rule, const Seconds& seconds) {
  if (values.size() != seconds.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!fits(values[i], rule, seconds[i])) return false;
  }
  return true;
}

const Rule& rule_of(std::vector<double> UsageSamples::*kind) {
  return *std::find_if(std::begin(kRules), std::end(kRules),
                       [&](const Rule& rule) { return rule.kind == kind; });
}

std::optional<double> median_of(const std::vector<double>& samples) {
  return samples.empty() ? std::nullopt : std::optional(statistics::median(samples));
}

ordered_json with_median(const std::vector<double>& samples) {
  return {{"median", statistics::median(samples)}, {"samples", samples}};
}

// The samples of one kind, which has to obey its rule.
std::vector<double> samples_of(const JsonFields& fields, const Seconds& seconds,
                               std::vector<double> UsageSamples::*kind) {
  const ordered_json& list = fields.at("samples");
  std::vector<double> samples;
  if (list.is_array()) {
    for (const ordered_json& value : list) {
      samples.push_back(value.is_number() ? value.get<double>() : -1);
    }
  }
  const Rule& rule = rule_of(kind);
  if (!fits(samples, rule, seconds)) {
    fields.fail("samples", fmt::format("a number {} for each of {} samples, and at most {:g}{}",
                                       rule.may_be_0 ? "of 0 and above" : "above 0", seconds.size(),
                                       rule.most, rule.per_second ? " per second" : ""));
  }
  return samples;
}

std::vector<double> with_median_at(const JsonFields& fields, const Seconds& seconds,
                                   std::vector<double> UsageSamples::*kind) {
  std::vector<double> samples = samples_of(fields, seconds, kind);
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  const double median = fields.not_negative("median");
  if (median < *least || median > *most) fields.fail("median", "the median of its samples");
  return samples;
}

void read_counters(const JsonFields& counters, const Seconds& seconds, UsageSamples& samples) {
  for (const UsageKind& kind : machine::kUsageKinds) {
    const bool counter = kind.samples == &UsageSamples::instructions ||
                         kind.samples == &UsageSamples::cycles ||
                         kind.samples == &UsageSamples::cache_misses;
    if (!counter || !counters.has(kind.name)) continue;
    samples.*kind.samples = with_median_at(counters.object(kind.name), seconds, kind.samples);
  }
}

}  // namespace

std::optional<double> Used::joules() const { return median_of(samples.joules); }
std::optional<double> Used::instructions() const { return median_of(samples.instructions); }
std::optional<double> Used::cache_misses() const { return median_of(samples.cache_misses); }

std::optional<double> Used::per_cycle() const {
  if (samples.instructions.empty() || samples.cycles.empty()) return std::nullopt;
  return statistics::median(samples.instructions) / statistics::median(samples.cycles);
}

std::optional<std::int64_t> Used::throttled_samples() const {
  if (samples.throttled.empty()) return std::nullopt;
  return std::count_if(samples.throttled.begin(), samples.throttled.end(),
                       [](double events) { return events > 0; });
}

std::optional<Used> credible(UsageSamples samples, const Seconds& seconds) {
  for (const Rule& rule : kRules) {
    if (!fits(samples.*rule.kind, rule, seconds)) (samples.*rule.kind).clear();
  }
  return samples.empty() ? std::nullopt : std::optional(Used{std::move(samples), {}});
}

double idle_share(double watts, double seconds, double joules) {
  return std::min(1.0, watts * seconds / joules);
}

void add_usage(const Used& used, ordered_json& line) {
  const UsageSamples& samples = used.samples;
  if (!samples.joules.empty()) {
    line["energy_j"] = with_median(samples.joules);
    if (used.idle_share) line["energy_j"]["idle_share"] = *used.idle_share;
  }
  const auto add = [&](const char* name, const std::vector<double>& counts) {
    if (!counts.empty()) line["counters"][name] = with_median(counts);
  };
  add("instructions", samples.instructions);
  add("cycles", samples.cycles);
  add("cache_misses", samples.cache_misses);
  if (!samples.throttled.empty()) {
    line["throttled"] = {{"samples_with_events", *used.throttled_samples()},
                         {"samples", samples.throttled}};
  }
}

std::optional<Used> read_usage(const JsonFields& line, const Seconds& seconds) {
  Used used;
  if (line.has_value("energy_j")) {
    const JsonFields energy = line.object("energy_j");
    used.samples.joules = with_median_at(energy, seconds, &UsageSamples::joules);
    if (energy.has_value("idle_share")) {
      used.idle_share = energy.not_negative("idle_share");
      if (*used.idle_share > 1) energy.fail("idle_share", "a share of the joules, at most 1");
    }
  }
  if (line.has_value("counters")) read_counters(line.object("counters"), seconds, used.samples);
  if (line.has_value("throttled")) {
    used.samples.throttled =
        samples_of(line.object("throttled"), seconds, &UsageSamples::throttled);
  }
  return used.samples.empty() ? std::nullopt : std::optional(std::move(used));
}

}  // namespace headroom::record
