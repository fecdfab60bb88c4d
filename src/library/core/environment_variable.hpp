// Environment variables of the project.
#pragma once

#include <cstdlib>
#include <string>

namespace headroom {

/// The value of a variable; empty if it is not set. A variable set to an empty string counts as not
/// set everywhere, so that a script can unset one for a single command.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace headroom
