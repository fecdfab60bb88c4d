// Ctrl-C, SIGTERM and SIGHUP: the running cell is dropped, finished ones are kept.
#pragma once

namespace headroom {

/// From now on the first SIGINT, SIGTERM or SIGHUP only sets a flag, and a second one ends the
/// process at once. A SIGHUP that is ignored, as under nohup, stays so.
void install_signal_handlers();

/// The same signals, for a handler of the caller's own.
void handle_stop_signals(void (*handler)(int));

/// A reader of standard output that exits early, and a file that exceeds the size limit, do not end
/// the process: the write fails, and whoever writes names the file.
void make_failed_writes_errors();

/// The signal that requested the stop, or 0.
int stop_signal();

}  // namespace headroom
