// Whether progress and notes are wanted on standard error; results, warnings and errors always are.
#pragma once

namespace headroom {

/// Nothing but results, warnings and errors from now on. One switch for the whole process, as it
/// has one standard error.
void be_quiet();

bool is_quiet();

}  // namespace headroom
