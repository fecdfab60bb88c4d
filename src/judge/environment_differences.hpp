// What else differs between two runs, which may be what their times show.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headroom::judge {

/// What the machines, builds and settings behind two results folders have that is not the same. The
/// revision of the source is not among it: that it differs is why one compares.
std::vector<std::string> environment_differences(const nlohmann::ordered_json& base,
                                                 const nlohmann::ordered_json& next);

/// The FMA peaks measured beside the cells, where they differ by more than `margin` (a ratio less
/// 1): then the machine itself was not the same.
std::vector<std::string> peak_differences(const nlohmann::ordered_json& base,
                                          const nlohmann::ordered_json& next, double margin);

}  // namespace headroom::judge
