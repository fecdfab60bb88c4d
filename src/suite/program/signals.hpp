// Ctrl-C and SIGTERM: the running cell is dropped, finished ones are kept.
#pragma once

namespace headroom {

/// From now on the first SIGINT or SIGTERM only sets a flag, and a second one ends the process at
/// once.
void install_signal_handlers();

/// Keeps a sweep running if the reader of its standard output exits early.
void ignore_broken_pipes();

/// The signal that requested the stop, or 0.
int stop_signal();

}  // namespace headroom
