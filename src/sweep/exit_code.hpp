// How the programs end; see the exit codes in the README.
#pragma once

#include "core/regular_file.hpp"
#include "headroom/error.hpp"

namespace headroom::sweep {

enum ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,
  kWrongUsage = 2,
  kBadFile = 3,
  kNoResource = 4,
  kNotAvailable = 5,
  kSignalBase = 128,  ///< plus the signal's number
};

using headroom::FileError;
using headroom::ResourceError;

}  // namespace headroom::sweep
