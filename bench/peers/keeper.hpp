// Sets the problem, checks every answer against the oracle, and keeps the record.
#pragma once

#include "machine/meters/peak.hpp"

namespace headroom::peers {

/// Serves until standard input ends. @param limits_of null without kernels; then cells have no
/// control.
void serve_keeper(machine::LimitKernelsOf limits_of);

}  // namespace headroom::peers
