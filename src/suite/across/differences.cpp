#include "across/differences.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "judge/environment_differences.hpp"
#include "program/json_text.hpp"

namespace headroom::across {
namespace {

constexpr const char* kSource = "source";
constexpr std::array<std::string_view, 5> kOfProgram{kSource, "version of headroom", "compiler",
                                                     "build type", "compiler flags"};

std::vector<judge::EnvironmentFact> facts_of(const Entry& entry) {
  std::vector<judge::EnvironmentFact> facts{
      {kSource, text_at(entry.folder.environment, "/build/git_revision")}};
  for (judge::EnvironmentFact& fact : judge::environment_facts(entry.folder.environment)) {
    facts.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace

std::vector<EnvironmentDifference> environment_differences(const Collection& collection) {
  // Names in the order in which they are met first; a folder that lacks one has no value of it.
  std::vector<EnvironmentDifference> all;
  std::map<std::string, std::size_t> places;
  std::vector<std::map<std::string, std::string>> by_entry;
  for (const Entry& entry : collection.entries) {
    std::map<std::string, std::string>& own = by_entry.emplace_back();
    for (judge::EnvironmentFact& fact : facts_of(entry)) {
      if (places.try_emplace(fact.name, all.size()).second) all.push_back({fact.name, {}});
      own[fact.name] = std::move(fact.value);
    }
  }
  for (EnvironmentDifference& difference : all) {
    for (std::size_t i = 0; i < by_entry.size(); ++i) {
      const auto found = by_entry[i].find(difference.name);
      const std::string value = found == by_entry[i].end() ? "not recorded" : found->second;
      const auto same = std::find_if(difference.values.begin(), difference.values.end(),
                                     [&](const auto& known) { return known.first == value; });
      if (same != difference.values.end()) {
        same->second.push_back(i);
      } else {
        difference.values.push_back({value, {i}});
      }
    }
  }
  std::erase_if(all, [](const EnvironmentDifference& one) { return one.values.size() < 2; });
  return all;
}

Programs::Programs(const Collection& collection) {
  for (const Entry& entry : collection.entries) {
    std::map<std::string, std::string>& own = facts_.emplace_back();
    for (judge::EnvironmentFact& fact : facts_of(entry)) own[fact.name] = std::move(fact.value);
  }
}

std::vector<std::string> Programs::differing(const std::vector<std::size_t>& entries,
                                             const std::string& backend) const {
  std::vector<std::string> names(kOfProgram.begin(), kOfProgram.end());
  names.push_back(judge::library_fact(backend));
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const auto value = [&](std::size_t entry) {
      const auto fact = facts_[entry].find(name);
      return fact == facts_[entry].end() ? std::string() : fact->second;
    };
    if (std::any_of(entries.begin(), entries.end(),
                    [&](std::size_t entry) { return value(entry) != value(entries.front()); })) {
      found.push_back(name);
    }
  }
  return found;
}

}  // namespace headroom::across
