// What runs inside a worker process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "measure/group_measurement.hpp"

namespace headroom::measure {

/// Messages are lines; the first letter is the kind of message.
inline constexpr char kStartedMessage = 'S';
inline constexpr char kFinishedMessage = 'F';  ///< answered with one byte
/// A sign of life: how many seconds the step should take that begins.
inline constexpr char kWorkingMessage = 'W';
inline constexpr char kErrorMessage = 'E';  ///< an exception that ended the worker

/// Sends the whole text. @return whether the other side is still connected.
bool send_all(int socket, std::string_view text);

/// What a forked process does first: it ends with its parent, leaves signals to it, and has no more
/// memory than the bytes and a margin.
void settle_worker(pid_t parent, std::int64_t memory_bytes);

/// Measures the group, reports over `socket`, and ends the process.
[[noreturn]] void be_worker(int socket, pid_t parent, const plan::Group& group,
                            const MeasureSettings& settings, plan::Estimator& estimator);

}  // namespace headroom::measure
