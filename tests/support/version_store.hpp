// A store of many versions that no machine measured.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/sample_results.hpp"

namespace headroom::test {

/// As of version `number`, counted from 0, on a machine of this processor.
inline nlohmann::ordered_json version_environment(int number,
                                                  const std::string& processor = "Processor") {
  nlohmann::ordered_json environment = sample_environment();
  environment["headroom"] = "0.1.0";
  environment["processor"]["name"] = processor;
  environment["time"] = fmt::format("2026-02-{:02}T12:00:00Z", number + 1);
  environment["build"]["git_revision"] = fmt::format("{:012x}", 0xabc000 + number);
  environment["build"]["committed"] = fmt::format("2026-01-{:02}T12:00:00Z", number + 1);
  return environment;
}

inline std::string version_name(int number) {
  return fmt::format("0.1.0-{:012x}", 0xabc000 + number);
}

/// A little of each version's own luck, below 0.2 %.
inline double luck(int number) { return 1 + 0.002 * ((number * 7919) % 11 - 5) / 5.0; }

/// Writes `STORE/MACHINE/VERSION` for as many versions.
/// @param results_of a version, by its number
template <class ResultsOf>
void write_store(const std::filesystem::path& store, const std::string& machine, int versions,
                 ResultsOf results_of) {
  for (int i = 0; i < versions; ++i) {
    write_sample_folder(store / machine / version_name(i), results_of(i),
                        version_environment(i, machine));
  }
}

}  // namespace headroom::test
