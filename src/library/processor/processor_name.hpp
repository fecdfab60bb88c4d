// The name of this processor as the kernel reports it; needs no library.
#pragma once

#include <string>
#include <string_view>

#include "headroom/export.h"

namespace headroom::processor {

/// The value after `key` in the first processor's block of /proc/cpuinfo; empty if there is none.
HEADROOM_API std::string cpuinfo_value(std::string_view key);

/// Such as `"AMD EPYC"`; `"unknown"` if the kernel does not say.
HEADROOM_API std::string processor_name();

/// Such as `"x86_64"`.
HEADROOM_API std::string processor_architecture();

}  // namespace headroom::processor
