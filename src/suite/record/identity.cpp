#include "record/identity.hpp"

#include <fmt/format.h>

#include <span>

#include "core/text/fingerprint.hpp"
#include "program/json_differences.hpp"
#include "program/json_text.hpp"

namespace headroom::record {
namespace {

using nlohmann::ordered_json;

constexpr Field kCompared[] = {
    {"/headroom", "version of headroom"},
    {"/build/git_revision", "revision of the program"},
    {"/build/compiler", "compiler"},
    {"/build/build_type", "build type"},
    {"/build/flags", "compiler flags"},
    {"/libraries", "measuring library"},
    {"/backends", "backends"},
    {"/processor/name", "processor"},
    {"/processor/architecture", "architecture"},
    {"/processor/hardware_threads", "hardware threads"},
    {"/allowed_cores", "allowed cores"},
    {"/isa", "instruction set"},
    {"/unit", "unit"},
    {"/conditions/openmp_wait_policy", "OpenMP wait policy"},
    {"/conditions/variables", "environment variables of OpenMP, oneTBB and oneDNN"},
    {"/sweep/seed", "seed"},
    {"/sweep/repetitions_asked", "repetitions"},
    {"/sweep/processes", "processes"},
    {"/sweep/min_time_s", "seconds per sample"},
    {"/sweep/budget_s", "budget"},
    {"/sweep/cache", "cache state"},
    {"/sweep/weights/fingerprint", "fingerprint of the weights"},
};

constexpr Field kShard[] = {{"/sweep/identity/shard", "shard"}};

constexpr const char* kFingerprint = "/sweep/identity/fingerprint";
constexpr const char* kAxes = "/sweep/identity/axes";

// Names the axes that were typed differently. Whether that matters is decided by the cells alone.
std::string axes_difference(const ordered_json& first, const std::string& first_name,
                            const ordered_json& second, const std::string& second_name) {
  const ordered_json& a = value_at(first, kAxes);
  const ordered_json& b = value_at(second, kAxes);
  std::string text;
  if (a.is_object() && b.is_object()) {
    ordered_json all = a;
    all.update(b);
    for (const auto& [axis, _] : all.items()) {
      const ordered_json of_a = a.value(axis, ordered_json(nullptr));
      const ordered_json of_b = b.value(axis, ordered_json(nullptr));
      if (of_a == of_b) continue;
      text +=
          fmt::format("{}--{} is {} in {} and {} in {}", text.empty() ? "" : ", ", axis,
                      shown(of_a, "not given"), first_name, shown(of_b, "not given"), second_name);
    }
  }
  return text.empty()
             ? fmt::format("the cells of {} and {} are not the same", first_name, second_name)
             : "the axes differ: " + text;
}

}  // namespace

SweepIdentity identity_of(const plan::Axes& axes, const plan::Plan& plan,
                          const std::optional<plan::Shard>& shard) {
  Fingerprint fingerprint;
  for (const plan::Group& group : plan.groups) {
    for (const plan::Cell& cell : group.cells) fingerprint.add(cell.id + "\n");
  }
  return {axes, plan.cell_count(), fingerprint.text(), shard};
}

ordered_json to_json(const SweepIdentity& identity) {
  ordered_json given = ordered_json::object();
  plan::Axes::each(identity.axes, [&](const auto& axis) {
    if (!axis) return;
    const plan::AxisWords& words = axis.words();
    if constexpr (plan::kIsFlag<decltype(axis)>) {
      given[words.name] = true;
    } else if (words.may_repeat) {
      given[words.name] = axis.texts();
    } else {
      given[words.name] = axis.text();
    }
  });
  ordered_json shard = nullptr;
  if (identity.shard) shard = {{"index", identity.shard->index}, {"of", identity.shard->count}};
  return {{"axes", given},
          {"cells", identity.cells},
          {"fingerprint", identity.fingerprint},
          {"shard", shard}};
}

std::vector<std::string> identity_differences(const ordered_json& first,
                                              const std::string& first_name,
                                              const ordered_json& second,
                                              const std::string& second_name, Shards shards) {
  std::vector<std::string> differences;
  const auto compare = [&](std::span<const Field> fields) {
    for (const auto& [name, a, b] : differing_fields(first, second, fields)) {
      differences.push_back(
          fmt::format("the {} is {} in {} and {} in {}", name, a, first_name, b, second_name));
    }
  };
  compare(kCompared);
  if (value_at(first, kFingerprint) != value_at(second, kFingerprint)) {
    differences.push_back(axes_difference(first, first_name, second, second_name));
  }
  if (shards == Shards::must_match) compare(kShard);
  return differences;
}

}  // namespace headroom::record
