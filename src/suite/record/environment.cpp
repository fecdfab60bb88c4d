#include "record/environment.hpp"

#include <fmt/format.h>

#include <ctime>
#include <optional>
#include <string>

#include "core/element/fp16_tiles.hpp"
#include "core/environment_variable.hpp"
#include "headroom/backend.hpp"
#include "headroom/version.hpp"
#include "headroom_revision.hpp"
#include "machine/conditions.hpp"
#include "machine/memory.hpp"
#include "machine/meters/clock.hpp"
#include "machine/meters/timing.hpp"
#include "machine/processor.hpp"
#include "plan/user_weights.hpp"
#include "processor/cores.hpp"
#include "program/json_text.hpp"
#include "program/process_setup.hpp"
#include "program/program_fingerprint.hpp"

namespace headroom::record {
namespace {

using nlohmann::ordered_json;

ordered_json processor_json() {
  const machine::Processor processor = machine::describe_processor();
  ordered_json caches = ordered_json::array();
  for (const machine::Cache& cache : processor.caches) {
    caches.push_back({{"name", cache.name}, {"bytes", cache.bytes}, {"count", cache.count}});
  }
  return {{"name", processor.name},
          {"vendor", processor.vendor},
          {"architecture", processor.architecture},
          {"model", processor.model},
          {"features", processor.features},
          {"caches", caches},
          {"last_level_total_bytes", processor.last_level_total_bytes},
          {"packages", processor.packages},
          {"cores", processor.cores},
          {"hardware_threads", processor.hardware_threads},
          {"numa_nodes", processor.numa_nodes}};
}

ordered_json isas_json() {
  ordered_json names = ordered_json::array();
  for (const Isa isa : available_isas()) names.push_back(headroom::to_string(isa));
  return names;
}

ordered_json backends_json() {
  ordered_json all = ordered_json::array();
  for (const BackendInfo& info : backends()) {
    all.push_back(
        {{"name", info.name},
         {"available", info.available},
         {"reason", info.reason.empty() ? ordered_json(nullptr) : ordered_json(info.reason)},
         {"description", info.description},
         {"library", info.library},
         {"threaded", info.threaded}});
  }
  return all;
}

ordered_json build_json() {
  return {{"compiler", HEADROOM_COMPILER},
          {"build_type", HEADROOM_BUILD_TYPE},
          {"flags", HEADROOM_COMPILE_FLAGS},
          {"git_revision", source_revision()},
          {"committed", HEADROOM_COMMITTED}};
}

// Slurm's name of it. A host's own name is nobody else's business where results are published.
std::optional<std::string> node_of_cluster() {
  const std::string node = environment("SLURMD_NODENAME");
  return node.empty() ? std::nullopt : std::optional(node);
}

ordered_json conditions_json(const machine::UsageSources& sources) {
  machine::Conditions now = machine::current_conditions();
  const std::optional<double> clock = machine::measure_clock_ghz();
  if (!clock) now.unavailable["clock_ghz"] = processor::why_no_clock();
  machine::UsageOffer usage = machine::usage_offer(sources);
  now.unavailable.merge(usage.unavailable);
  const auto known = [&](const char* name) {
    const auto found = usage.known.find(name);
    return found == usage.known.end() ? ordered_json(nullptr) : ordered_json(found->second);
  };
  return {{"governor", or_null(now.governor)},
          {"turbo", or_null(now.turbo)},
          {"load", or_null(now.load)},
          {"huge_pages", or_null(now.huge_pages)},
          {"clock_ghz", or_null(clock)},
          {"energy", known("energy")},
          {"counters", known("counters")},
          {"throttling", known("throttling")},
          {"unavailable", now.unavailable},
          {"node", or_null(node_of_cluster())},
          {"openmp_wait_policy", openmp_wait_policy()},
          {"variables", machine::runtime_variables()}};
}

std::string_view fp16_words(Fp16Tiles tiles) {
  switch (tiles) {
    case Fp16Tiles::announced:
      return "announced";
    case Fp16Tiles::forced:
      return "forced";
    default:
      return "none";
  }
}

}  // namespace

std::string source_revision() {
  const std::string revision = HEADROOM_GIT_REVISION;
  // The sources are not those of a commit, so only the program itself can identify them.
  const bool exact = revision != "unknown" && !revision.ends_with("-dirty");
  static const std::string program = exact ? "" : fingerprint_of_program();
  return exact ? revision : fmt::format("{}+{}", revision, program);
}

bool is_release_build() { return std::string_view(HEADROOM_BUILD_TYPE) == "Release"; }

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

ordered_json describe_target(const Target& target, const UnitFacts& facts) {
  ordered_json units = ordered_json::array();
  ordered_json missing = ordered_json::object();
  for (const Unit unit : units_of(target.isa, facts)) units.push_back(headroom::to_string(unit));
  for (const Unit unit : {Unit::avx512_bf16, Unit::amx}) {
    const std::string reason = why_no_unit(unit, target.isa, facts);
    if (!reason.empty()) missing[std::string(headroom::to_string(unit))] = reason;
  }
  return {{"isa", headroom::to_string(target.isa)},
          {"available_isas", isas_json()},
          {"unit", headroom::to_string(target.unit)},
          {"available_units", units},
          {"missing_units", missing}};
}

ordered_json describe_environment(const Target& target, const machine::UsageSources& sources) {
  const machine::MemoryLimit memory = machine::memory_limit();
  ordered_json environment{{"schema", "headroom.environment/1"},
                           {"headroom", HEADROOM_VERSION},
                           {"time", utc_now()},
                           {"processor", processor_json()},
                           {"allowed_cores", allowed_cores()},
                           {"memory", {{"bytes", memory.bytes}, {"limited_by", memory.source}}}};
  environment.update(describe_target(target, unit_facts()));
  environment["fp16_tiles"] = fp16_words(fp16_tiles());
  environment["backends"] = backends_json();
  environment["libraries"] = {{"google_benchmark", machine::benchmark_library_version()}};
  environment["build"] = build_json();
  environment["conditions"] = conditions_json(sources);
  return environment;
}

ordered_json describe_weights(const plan::Plan& plan) {
  if (plan.groups.empty() || plan.groups.front().weights == nullptr) return nullptr;
  const plan::UserWeights& weights = *plan.groups.front().weights;
  std::int64_t bytes = 0;
  for (const auto& matrix : weights.layer.matrices) bytes += matrix.tensor.tensor.bytes;
  for (const auto& bias : weights.layer.biases) bytes += bias.tensor.tensor.bytes;
  return {{"file", weights.path.string()},
          {"layer", weights.layer.layer},
          {"layout", weights.layer.layout},
          {"family", weights.layer.family},
          {"bytes_read", bytes},
          {"fingerprint", weights.survey.fingerprint},
          {"input", "random"}};
}

}  // namespace headroom::record
