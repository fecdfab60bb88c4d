#include "trend/build_changes.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "judge/environment_differences.hpp"
#include "program/json_differences.hpp"

namespace headroom::trend {
namespace {

using nlohmann::ordered_json;

std::string sentence(const FieldDifference& difference) {
  return fmt::format("{} {} before, {} after", difference.name, difference.first,
                     difference.second);
}

}  // namespace

std::vector<std::string> build_changes(const StepSide& before, const StepSide& after) {
  std::vector<std::string> changes;
  for (const FieldDifference& difference :
       differing_fields(*before.environment, *after.environment, judge::build_and_settings())) {
    changes.push_back(sentence(difference));
  }
  const ordered_json was = judge::library_of(*before.environment, before.reading->backend);
  const ordered_json is = judge::library_of(*after.environment, after.reading->backend);
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
