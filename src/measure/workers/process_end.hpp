// How a process ended, in words.
#pragma once

#include <string>

namespace headroom::measure {

/// Such as "died of SIGSEGV (...)". @param status as waitpid() returns it
std::string describe_end(int status);

}  // namespace headroom::measure
