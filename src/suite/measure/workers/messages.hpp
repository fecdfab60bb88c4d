// What a fork server, the processes that it forks, and their parent say to each other.
#pragma once

#include <string>
#include <string_view>

#include "measure/group/round.hpp"

namespace headroom::measure {

/// Messages to the parent are lines; the first letter is the kind of message.
inline constexpr char kStartedMessage = 'S';
inline constexpr char kFinishedMessage = 'F';  ///< a `Part`; answered with `kAnswer`
/// A sign of life: how many seconds the step should take that begins.
inline constexpr char kWorkingMessage = 'W';
inline constexpr char kErrorMessage = 'E';     ///< an exception that ended the process
inline constexpr char kRefusedMessage = 'R';   ///< the system refused what every cell needs
inline constexpr char kRoundEndMessage = 'D';  ///< the round is over; why, unless it is complete
inline constexpr char kAnswer = '+';

/// Sends the whole text. @return whether the other side is still connected.
bool send_all(int socket, std::string_view text);

/// A round as the parent sends it, in one line. What it says comes from this program alone.
std::string to_text(const Round& round);
Round round_from_text(const std::string& text);

/// A part in one line.
std::string to_text(const Part& part);

/// @throws nlohmann::ordered_json::exception or InvalidArgument for anything else: a backend that
/// overwrites memory may send it.
Part part_from_text(const std::string& text);

}  // namespace headroom::measure
