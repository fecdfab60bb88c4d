#include "trend/build_changes.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/json_differences.hpp"
#include "program/json_text.hpp"

namespace headroom::trend {
namespace {

using nlohmann::ordered_json;

constexpr Field kFields[] = {
    {"/build/compiler", "compiler"},
    {"/build/build_type", "build type"},
    {"/build/flags", "compiler flags"},
    {"/libraries/google_benchmark", "Google Benchmark"},
    {"/conditions/governor", "frequency governor"},
    {"/conditions/turbo", "turbo"},
    {"/conditions/huge_pages", "huge pages"},
    {"/conditions/openmp_wait_policy", "OpenMP wait policy"},
    {"/conditions/variables", "environment variables of OpenMP, oneTBB and oneDNN"},
    {"/sweep/min_time_s", "seconds per sample"},
    {"/sweep/cache", "cache state"},
    {"/sweep/weights/fingerprint", "fingerprint of the weights"},
};

std::string sentence(const FieldDifference& difference) {
  return fmt::format("{} {} before, {} after", difference.name, difference.first,
                     difference.second);
}

// What stands behind a backend.
const ordered_json& library_of(const ordered_json& environment, const std::string& name) {
  static const ordered_json nothing;
  const ordered_json& backends = value_at(environment, "/backends");
  if (!backends.is_array()) return nothing;
  for (const ordered_json& backend : backends) {
    if (text_at(backend, "/name", "") == name) return value_at(backend, "/library");
  }
  return nothing;
}

}  // namespace

std::vector<std::string> build_changes(const StepSide& before, const StepSide& after) {
  std::vector<std::string> changes;
  for (const FieldDifference& difference :
       differing_fields(*before.environment, *after.environment, kFields)) {
    changes.push_back(sentence(difference));
  }
  const ordered_json& was = library_of(*before.environment, before.reading->backend);
  const ordered_json& is = library_of(*after.environment, after.reading->backend);
  if (was != is) changes.push_back(sentence({"library", shown(was), shown(is)}));
  const Reading& then = *before.reading;
  const Reading& now = *after.reading;
  if (then.isa != now.isa) changes.push_back(sentence({"instruction set", then.isa, now.isa}));
  if (then.unit != now.unit) changes.push_back(sentence({"unit", then.unit, now.unit}));
  if (then.threads != now.threads) {
    changes.push_back(
        sentence({"threads", std::to_string(then.threads), std::to_string(now.threads)}));
  }
  return changes;
}

}  // namespace headroom::trend
