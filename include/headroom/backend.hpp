/// @file
/// Which backends this program has, and what each can do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headroom/export.h"

namespace headroom {

/// One row of the registry. Backends are listed in this order everywhere.
struct BackendInfo {
  std::string name;         ///< such as `"xsimd"`
  std::string description;  ///< one line for people
  bool available = false;
  std::string reason;     ///< why it is not available, and what to do; empty otherwise
  std::string library;    ///< name and version of the library behind it; may be empty
  bool threaded = false;  ///< runs one layer on several threads
  bool uses_isa = false;  ///< obeys a forced instruction-set level
};

/// Every backend that the project knows, linked into this program or not, and any other that this
/// program is linked with.
HEADROOM_API std::vector<BackendInfo> backends();

/// @throws InvalidArgument for a name that no backend has, suggesting the nearest;
///         Unavailable if it is not linked into this program or cannot run here.
HEADROOM_API BackendInfo find_backend(std::string_view name);

}  // namespace headroom
