#include "measure/workers/messages.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <limits>

#include "json/json_fields.hpp"
#include "program/json_text.hpp"

namespace headroom::measure {

using nlohmann::ordered_json;

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string to_text(const Round& round) {
  ordered_json cells = ordered_json::array();
  for (const Assignment& assigned : round.cells) {
    cells.push_back(
        {assigned.cell, assigned.samples, assigned.iterations, assigned.forward, assigned.twice});
  }
  return headroom::to_text({{"process", round.process}, {"cells", cells}});
}

Round round_from_text(const std::string& text) {
  const ordered_json json = ordered_json::parse(text);
  Round round{json.at("process").get<int>(), {}};
  for (const ordered_json& cell : json.at("cells")) {
    round.cells.push_back({cell.at(0).get<std::size_t>(), cell.at(1).get<int>(),
                           cell.at(2).get<std::int64_t>(), cell.at(3).get<double>(),
                           cell.at(4).get<bool>()});
  }
  return round;
}

std::string to_text(const Part& part) {
  return headroom::to_text({{"result", record::to_json(part.result)},
                            {"processes", part.plan.processes},
                            {"repetitions", part.plan.repetitions},
                            {"iterations", part.iterations},
                            {"forward_s", part.forward}});
}

Part part_from_text(const std::string& text) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  const ordered_json json = ordered_json::parse(text);
  const JsonFields fields(json, "part");
  Part part;
  part.result = record::from_json(fields.at("result"));
  part.plan.processes = static_cast<int>(fields.whole("processes", 1, kMost));
  part.plan.repetitions = static_cast<int>(fields.whole("repetitions", 1, kMost));
  part.iterations = fields.whole("iterations", 0);
  part.forward = fields.not_negative("forward_s");
  return part;
}

}  // namespace headroom::measure
