// What a cell used per pass, in its line of results.jsonl.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "machine/counters/usage_meter.hpp"

namespace headroom {
class JsonFields;
}

namespace headroom::record {

/// Energy and counts of a cell. Every kind has one reading per sample, or none.
struct Used {
  machine::UsageSamples samples;
  /// Of its joules: what the idle machine would have used in the same time. Empty if unknown.
  std::optional<double> idle_share = {};

  /// Medians per pass, of kinds that have samples.
  std::optional<double> joules() const;
  std::optional<double> instructions() const;
  std::optional<double> per_cycle() const;  ///< instructions
  std::optional<double> cache_misses() const;
  /// Samples during which a core or a package was throttled; empty if unknown.
  std::optional<std::int64_t> throttled_samples() const;
};

/// Readings of which every kind has one for each sample. A kind is dropped whole where one is
/// missing, stands still, or is more than any machine uses. Empty if nothing is left.
/// @param seconds of the samples, per pass
std::optional<Used> credible(machine::UsageSamples samples, const std::vector<double>& seconds);

/// The share of the joules that the idle machine would have used, at most 1.
/// @param watts of the idle machine. @param seconds, joules of a pass
double idle_share(double watts, double seconds, double joules);

/// Adds `energy_j`, `counters` and `throttled`, as far as there are any.
void add_usage(const Used& used, nlohmann::ordered_json& line);

/// Empty where the line has none of them. @param seconds of the same line
/// @throws InvalidArgument for what no machine uses, see `credible`
std::optional<Used> read_usage(const JsonFields& line, const std::vector<double>& seconds);

}  // namespace headroom::record
