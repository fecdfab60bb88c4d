// Tuning files that no machine measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headroom/version.hpp"
#include "json/shape_json.hpp"
#include "tuning/tuning_file.hpp"

namespace headroom::test {

inline Case tuned_shape(std::int64_t tokens, std::int64_t width = 64, std::int64_t heads = 4) {
  Case shape;
  shape.tokens = tokens;
  shape.d_in = shape.d_out = shape.d_proj = width;
  shape.heads = heads;
  return shape;
}

inline tuning::Candidate candidate(const std::string& backend, Formulation formulation,
                                   double seconds, int threads = 1,
                                   const std::string& isa = tuning::kOnlyIsa) {
  return {backend, formulation, threads, isa, seconds};
}

/// Of this machine and version.
inline nlohmann::ordered_json tuning_json(const std::vector<tuning::TunedShape>& shapes) {
  const tuning::Machine here = tuning::this_machine();
  nlohmann::ordered_json json{
      {"schema", tuning::kSchema},
      {"headroom", HEADROOM_VERSION},
      {"machine", {{"processor", here.processor}, {"architecture", here.architecture}}},
      {"shapes", nlohmann::ordered_json::array()}};
  for (const tuning::TunedShape& tuned : shapes) {
    nlohmann::ordered_json candidates = nlohmann::ordered_json::array();
    for (const tuning::Candidate& one : tuned.candidates) {
      candidates.push_back({{"backend", one.backend},
                            {"formulation", to_string(one.formulation)},
                            {"threads", one.threads},
                            {"isa", one.isa},
                            {"unit", one.unit},
                            {"precision", to_string(one.numbers.precision)},
                            {"dtype", to_string(one.numbers.dtype)},
                            {"time_s", {{"median", one.seconds}}}});
    }
    json["shapes"].push_back({{"shape", to_json(tuned.shape)}, {"candidates", candidates}});
  }
  return json;
}

}  // namespace headroom::test
