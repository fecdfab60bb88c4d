#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sweep/compare.hpp"

namespace headroom::sweep {
namespace {

using nlohmann::ordered_json;

// What can change a time without a change of the program.
constexpr std::pair<const char*, const char*> kCompared[] = {
    {"/processor/name", "processor"},
    {"/processor/architecture", "architecture"},
    {"/processor/hardware_threads", "hardware threads"},
    {"/allowed_cores", "allowed cores"},
    {"/isa", "instruction set"},
    {"/headroom", "version of headroom"},
    {"/build/compiler", "compiler"},
    {"/build/build_type", "build type"},
    {"/build/flags", "compiler flags"},
    {"/libraries/google_benchmark", "Google Benchmark"},
    {"/conditions/governor", "frequency governor"},
    {"/conditions/turbo", "turbo"},
    {"/conditions/huge_pages", "huge pages"},
    {"/conditions/openmp_wait_policy", "OpenMP wait policy"},
    {"/sweep/min_time_s", "seconds a sample"},
    {"/sweep/cache", "cache state"},
    {"/sweep/seed", "seed"},
};

std::string shown(const ordered_json* value) {
  if (value == nullptr || value->is_null()) return "not recorded";
  if (value->is_string()) return "'" + value->get<std::string>() + "'";
  if (value->is_structured()) return "something else";
  return value->dump();
}

const ordered_json* find(const ordered_json& environment, const char* place) {
  const ordered_json::json_pointer pointer(place);
  return environment.contains(pointer) ? &environment.at(pointer) : nullptr;
}

void add_if_different(const char* name, const ordered_json* base, const ordered_json* next,
                      std::vector<std::string>& differences) {
  const ordered_json nothing;
  const ordered_json& a = base == nullptr ? nothing : *base;
  const ordered_json& b = next == nullptr ? nothing : *next;
  if (a == b) return;
  differences.push_back(
      fmt::format("the {} is not the same: {} in BASE, {} in NEW", name, shown(&a), shown(&b)));
}

// The library behind each backend, by the backend's name.
std::map<std::string, const ordered_json*> libraries(const ordered_json& environment) {
  std::map<std::string, const ordered_json*> all;
  const ordered_json* backends = find(environment, "/backends");
  if (backends == nullptr || !backends->is_array()) return all;
  for (const ordered_json& backend : *backends) {
    const ordered_json* name = find(backend, "/name");
    const ordered_json* library = find(backend, "/library");
    if (name != nullptr && name->is_string() && library != nullptr) {
      all.emplace(name->get<std::string>(), library);
    }
  }
  return all;
}

}  // namespace

std::vector<std::string> environment_differences(const ordered_json& base,
                                                 const ordered_json& next) {
  std::vector<std::string> differences;
  for (const auto& [place, name] : kCompared) {
    add_if_different(name, find(base, place), find(next, place), differences);
  }
  const auto of_next = libraries(next);
  for (const auto& [backend, library] : libraries(base)) {
    const auto match = of_next.find(backend);
    if (match == of_next.end()) continue;  // its cells are missing, which is said already
    add_if_different(("library of " + backend).c_str(), library, match->second, differences);
  }
  return differences;
}

std::vector<std::string> peak_differences(const ordered_json& base, const ordered_json& next,
                                          double margin) {
  std::vector<std::string> differences;
  constexpr const char* kPlace = "/peaks/fma_gflops_by_threads";
  const ordered_json* of_base = find(base, kPlace);
  const ordered_json* of_next = find(next, kPlace);
  if (of_base == nullptr || of_next == nullptr || !of_base->is_object()) return differences;
  for (const auto& [threads, value] : of_base->items()) {
    if (!of_next->contains(threads) || !value.is_number()) continue;
    const ordered_json& other = of_next->at(threads);
    if (!other.is_number()) continue;
    const auto a = value.get<double>();
    const auto b = other.get<double>();
    if (!(a > 0 && b > 0) || std::max(a / b, b / a) <= 1 + margin) continue;
    differences.push_back(fmt::format(
        "the FMA peak of the machine with threads = {} was {:.1f} GFLOP/s in BASE and {:.1f} in "
        "NEW: not only the program may have changed; measure both again, in turn",
        threads, a, b));
  }
  return differences;
}

}  // namespace headroom::sweep
