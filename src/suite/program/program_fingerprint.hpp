// Identifies the running program.
#pragma once

#include <string>

namespace headroom {

/// Fingerprint of this program's executable file; `"unknown"` if that cannot be read.
std::string fingerprint_of_program();

}  // namespace headroom
