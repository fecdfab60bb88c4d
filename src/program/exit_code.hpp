// How the programs end; see docs/commands.md.
#pragma once

#include <stdexcept>

#include "core/regular_file.hpp"

namespace headroom {

enum ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,
  kWrongUsage = 2,
  kBadFile = 3,
  kNoResource = 4,
  kNotAvailable = 5,
  kSignalBase = 128,  ///< plus the signal's number
};

/// Memory, disk or a lock that the program needs and cannot have.
class ResourceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using headroom::FileError;

}  // namespace headroom
