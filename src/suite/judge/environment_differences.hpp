// Other differences between two runs, which may explain their times.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace headroom::judge {

/// How the machines, builds and settings behind two results folders differ. The source revision is
/// left out: it differs in most comparisons, and that is their purpose.
std::vector<std::string> environment_differences(const nlohmann::ordered_json& base,
                                                 const nlohmann::ordered_json& next);

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
