// Exit codes of the programs; see docs/commands.md.
#pragma once

#include "core/regular_file.hpp"
#include "headroom/error.hpp"

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

}  // namespace headroom
