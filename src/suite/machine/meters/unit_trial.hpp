// Whether a unit that the facts promise also computes.
#pragma once

#include <string>

#include "headroom/unit.hpp"

namespace headroom::machine {

/// One product in a child process, which alone dies if the processor, its hypervisor or its
/// emulator refuses; and one of fp16 in another, where tiles are said to have them. For programs
/// that measure, never for the library inside another program.
/// @return why it did not compute; empty if it did, or if there is no instruction to try.
std::string try_unit(Unit unit);

/// What runs in the child, and what is said of it. For tests.
std::string try_apart(void (*product)());

}  // namespace headroom::machine
