#include "headroom/unit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <utility>

#include "core/environment_variable.hpp"
#include "core/nearest.hpp"
#include "core/text/names.hpp"
#include "headroom/error.hpp"
#include "processor/unit_facts.hpp"

namespace headroom {
namespace {

constexpr Name<Unit> kUnitNames[] = {
    {Unit::none, "none"},
    {Unit::avx512_bf16, "avx512_bf16"},
    {Unit::amx, "amx"},
    {Unit::emulated, "emulated"},
};

Unit require_available(Unit unit, Isa isa, std::string_view source) {
  const std::string reason = why_no_unit(unit, isa, unit_facts());
  if (reason.empty()) return unit;
  std::vector<std::string_view> here;
  for (const Unit each : available_units(isa)) here.push_back(to_string(each));
  throw Unavailable(fmt::format("{} asks for unit {}: {}; available with {}: {}", source,
                                to_string(unit), reason, to_string(isa), fmt::join(here, ", ")));
}

}  // namespace

std::string_view to_string(Unit unit) { return name_of(kUnitNames, unit); }

std::optional<Unit> parse_unit(std::string_view name) { return value_of(kUnitNames, name); }

const std::vector<std::string>& unit_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Name<Unit>& each : kUnitNames) all.emplace_back(each.name);
    return all;
  }();
  return names;
}

std::vector<Unit> available_units(Isa isa) { return units_of(isa, unit_facts()); }

Unit select_unit(Isa isa, std::optional<Unit> requested) {
  if (requested) return require_available(*requested, isa, "the request");
  const std::string forced = environment("HEADROOM_UNIT");
  if (forced.empty()) return available_units(isa).back();
  const std::optional<Unit> unit = parse_unit(forced);
  if (!unit) {
    throw Unavailable(fmt::format("HEADROOM_UNIT is '{}', which is no unit; {}", forced,
                                  suggest(forced, unit_names())));
  }
  return require_available(*unit, isa, "HEADROOM_UNIT");
}

Target select_target(std::optional<Isa> isa, std::optional<Unit> unit) {
  const Isa level = select_isa(isa);
  return {level, select_unit(level, unit)};
}

std::vector<Target> available_targets(std::optional<Unit> unit) {
  std::vector<Target> targets;
  const std::vector<Isa> levels = available_isas();
  if (levels.empty()) return targets;
  // The highest level has every unit that there is.
  const Unit best = select_unit(levels.back(), unit);
  const bool forced = unit || !environment("HEADROOM_UNIT").empty();
  for (const Isa isa : levels) {
    const bool has = why_no_unit(best, isa, unit_facts()).empty();
    targets.push_back({isa, has && forced ? best : forced ? Unit::none : select_unit(isa)});
  }
  return targets;
}

}  // namespace headroom
