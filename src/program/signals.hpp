// Ctrl-C and SIGTERM: the running cell is dropped, what is finished stays.
#pragma once

namespace headroom {

/// From now on the first SIGINT or SIGTERM only sets a flag; a second one ends the process at
/// once.
void install_signal_handlers();

/// A reader of standard output who leaves early must not end a sweep.
void ignore_broken_pipes();

/// The signal that asked to stop, or 0.
int stop_signal();

}  // namespace headroom
