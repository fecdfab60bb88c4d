#include "judge/environment_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "program/json_text.hpp"

namespace headroom::judge {
namespace {

using nlohmann::ordered_json;

constexpr Field kBuildAndSettings[] = {
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

// Anything that can change a time although the program is the same.
const std::vector<Field>& compared() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> all{
        {"/processor/name", "processor"},
        {"/processor/architecture", "architecture"},
        {"/processor/hardware_threads", "hardware threads"},
        {"/allowed_cores", "allowed cores"},
        {"/isa", "instruction set"},
        {"/unit", "unit"},
        {"/headroom", "version of headroom"},
    };
    all.insert(all.end(), std::begin(kBuildAndSettings), std::end(kBuildAndSettings));
    // Beside the weights, which are drawn by it.
    all.insert(all.end() - 1, {"/sweep/seed", "seed"});
    return all;
  }();
  return fields;
}

std::string sentence(const FieldDifference& difference) {
  return fmt::format("different {}: {} in BASE, {} in NEW", difference.name, difference.first,
                     difference.second);
}

// The library behind each backend, by the backend's name.
std::map<std::string, ordered_json> libraries(const ordered_json& environment) {
  std::map<std::string, ordered_json> all;
  const ordered_json& backends = value_at(environment, "/backends");
  if (!backends.is_array()) return all;
  for (const ordered_json& backend : backends) {
    const std::string name = text_at(backend, "/name", "");
    if (!name.empty()) all.emplace(name, value_at(backend, "/library"));
  }
  return all;
}

}  // namespace

std::span<const Field> build_and_settings() { return kBuildAndSettings; }

ordered_json library_of(const ordered_json& environment, const std::string& backend) {
  const auto all = libraries(environment);
  const auto found = all.find(backend);
  return found == all.end() ? ordered_json(nullptr) : found->second;
}

std::vector<std::string> environment_differences(const ordered_json& base,
                                                 const ordered_json& next) {
  std::vector<std::string> differences;
  for (const FieldDifference& difference : differing_fields(base, next, compared())) {
    differences.push_back(sentence(difference));
  }
  const auto of_next = libraries(next);
  for (const auto& [backend, library] : libraries(base)) {
    const auto match = of_next.find(backend);
    // If it is missing, so are its cells, which is already reported.
    if (match == of_next.end() || match->second == library) continue;
    differences.push_back(sentence({library_fact(backend), shown(library), shown(match->second)}));
  }
  return differences;
}

std::vector<EnvironmentFact> environment_facts(const ordered_json& environment) {
  std::vector<EnvironmentFact> facts;
  for (const Field& field : compared()) {
    facts.push_back({field.name, shown(value_at(environment, field.place))});
  }
  for (const auto& [backend, library] : libraries(environment)) {
    facts.push_back({library_fact(backend), shown(library)});
  }
  return facts;
}

std::string library_fact(const std::string& backend) { return "library of " + backend; }

std::vector<std::string> peak_differences(const ordered_json& base, const ordered_json& next,
                                          double margin) {
  std::vector<std::string> differences;
  constexpr const char* kPlace = "/peaks/fma_gflops_by_threads";
  const ordered_json& of_base = value_at(base, kPlace);
  const ordered_json& of_next = value_at(next, kPlace);
  if (!of_base.is_object() || !of_next.is_object()) return differences;
  for (const auto& [threads, value] : of_base.items()) {
    if (!of_next.contains(threads) || !value.is_number()) continue;
    const ordered_json& other = of_next.at(threads);
    if (!other.is_number()) continue;
    const auto a = value.get<double>();
    const auto b = other.get<double>();
    if (!(a > 0 && b > 0) || std::max(a / b, b / a) <= 1 + margin) continue;
    differences.push_back(fmt::format(
        "the machine's FMA peak with threads = {} was {:.1f} GFLOP/s in BASE and {:.1f} in NEW: "
        "the program may not be all that changed; measure both again in alternation",
        threads, a, b));
  }
  return differences;
}

}  // namespace headroom::judge
