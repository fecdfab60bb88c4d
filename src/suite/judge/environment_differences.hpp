// Other differences between two runs, which may explain their times.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "program/json_differences.hpp"

namespace headroom::judge {

/// How the machines, builds and settings behind two results folders differ. The source revision is
/// left out: it differs in most comparisons, and that is their purpose.
std::vector<std::string> environment_differences(const nlohmann::ordered_json& base,
                                                 const nlohmann::ordered_json& next);

/// Of these, those that say how the program was built and how it measured: all that two runs of one
/// machine can differ in, but for the version and the seed.
std::span<const Field> build_and_settings();

/// The library behind a backend; null where it is not recorded.
nlohmann::ordered_json library_of(const nlohmann::ordered_json& environment,
                                  const std::string& backend);

/// What can change a time although the program is the same, and its value as text.
struct EnvironmentFact {
  std::string name;
  std::string value;
};

/// All that `environment_differences` compares, of one environment: for several, which differ from
/// each other. The libraries of the backends follow, by `library_fact`.
std::vector<EnvironmentFact> environment_facts(const nlohmann::ordered_json& environment);

/// The name of the fact that is a backend's library.
std::string library_fact(const std::string& backend);

/// The FMA peaks that differ by more than `margin` (a ratio minus 1), which means that the machine
/// itself changed.
std::vector<std::string> peak_differences(const nlohmann::ordered_json& base,
                                          const nlohmann::ordered_json& next, double margin);

}  // namespace headroom::judge
