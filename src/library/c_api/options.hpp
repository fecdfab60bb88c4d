// The options of C as those of C++.
#pragma once

#include <string>

#include "headroom/attention.hpp"
#include "headroom/headroom.h"

namespace headroom::c_api {

/// @param function that was called, for errors; @param options NULL: the defaults
AttentionOptions read_options(const char* function, const headroom_options* options);

/// Why it was chosen, in one line.
std::string reason_of(const Choice& choice);

}  // namespace headroom::c_api
