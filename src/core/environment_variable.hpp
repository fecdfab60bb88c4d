// Environment variables of the project.
#pragma once

#include <cstdlib>
#include <string>

namespace headroom {

/// What a variable holds; empty if it is not set. A variable that is set to nothing counts as not
/// set, everywhere: that is how a script takes one back for a single command.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace headroom
