#include "sweep/identity.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "headroom/error.hpp"
#include "sweep/differences.hpp"
#include "sweep/fingerprint.hpp"
#include "sweep/json_text.hpp"
#include "sweep/numbers.hpp"

namespace headroom::sweep {
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
    {"/conditions/openmp_wait_policy", "OpenMP wait policy"},
    {"/conditions/variables", "environment variables of OpenMP, oneTBB and oneDNN"},
    {"/sweep/seed", "seed"},
    {"/sweep/repetitions_asked", "repetitions"},
    {"/sweep/min_time_s", "seconds a sample"},
    {"/sweep/budget_s", "budget"},
    {"/sweep/cache", "cache state"},
};

constexpr Field kShard[] = {{"/sweep/identity/shard", "shard"}};

constexpr const char* kFingerprint = "/sweep/identity/fingerprint";
constexpr const char* kAxes = "/sweep/identity/axes";

// The axes that were typed differently; the cells alone decide whether that matters.
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

Shard parse_shard(const std::string& option, const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw InvalidArgument(fmt::format(
        "{}: '{}' is no part of a sweep; allowed is I/N such as 1/8, with I from 1 to N", option,
        text));
  }
  const Shard shard{parse_number(option, text.substr(0, slash)),
                    parse_number(option, text.substr(slash + 1))};
  if (shard.index > shard.count) {
    throw InvalidArgument(fmt::format("{}: there is no part {} of {}; allowed is 1 to {}", option,
                                      shard.index, shard.count, shard.count));
  }
  return shard;
}

void keep_shard(Plan& plan, const Shard& shard) {
  std::vector<Group> kept;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const auto owner = static_cast<std::int64_t>(i) % shard.count + 1;
    if (owner == shard.index) kept.push_back(std::move(plan.groups[i]));
  }
  plan.groups = std::move(kept);
}

SweepIdentity identity_of(const Axes& axes, const Plan& plan, const std::optional<Shard>& shard) {
  Fingerprint fingerprint;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) fingerprint.add(cell.id + "\n");
  }
  return {axes, plan.cell_count(), fingerprint.text(), shard};
}

ordered_json to_json(const SweepIdentity& identity) {
  const Axes& axes = identity.axes;
  ordered_json given = ordered_json::object();
  const std::pair<const char*, const std::optional<std::string>*> texts[] = {
      {"heads", &axes.heads},     {"tokens", &axes.tokens},     {"batch", &axes.batch},
      {"d-model", &axes.d_model}, {"head-dim", &axes.head_dim}, {"d-in", &axes.d_in},
      {"threads", &axes.threads}, {"backend", &axes.backend},   {"formulation", &axes.formulation},
      {"isa", &axes.isa},         {"dropout", &axes.dropout},   {"model", &axes.model},
      {"preset", &axes.preset}};
  for (const auto& [name, text] : texts) {
    if (*text) given[name] = **text;
  }
  if (axes.no_causal) given["no-causal"] = true;
  if (axes.qkv_bias) given["qkv-bias"] = true;
  if (axes.no_out_proj) given["no-out-proj"] = true;
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

}  // namespace headroom::sweep
