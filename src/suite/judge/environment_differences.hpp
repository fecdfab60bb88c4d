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

/// The FMA peaks that differ by more than `margin` (a ratio minus 1), which means that the machine
/// itself changed.
std::vector<std::string> peak_differences(const nlohmann::ordered_json& base,
                                          const nlohmann::ordered_json& next, double margin);

}  // namespace headroom::judge
