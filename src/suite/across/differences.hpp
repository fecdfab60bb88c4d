// How the machines, programs and settings behind several folders differ.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "across/collection.hpp"

namespace headroom::across {

/// A fact in which not all entries agree.
struct EnvironmentDifference {
  std::string name;  ///< such as `"compiler flags"`
  /// Each value with the entries that have it, in the order of the entries.
  std::vector<std::pair<std::string, std::vector<std::size_t>>> values;
};

/// Every one, with the version of the source first.
std::vector<EnvironmentDifference> environment_differences(const Collection& collection);

/// The programs behind the entries: version, compiler, its flags, libraries.
class Programs {
 public:
  explicit Programs(const Collection& collection);

  /// In what those of these entries differ that can change the times of a backend: its own library,
  /// no other's. What differs because the machines do is not named.
  std::vector<std::string> differing(const std::vector<std::size_t>& entries,
                                     const std::string& backend) const;

 private:
  std::vector<std::map<std::string, std::string>> facts_;  // by entry, then by name
};

}  // namespace headroom::across
