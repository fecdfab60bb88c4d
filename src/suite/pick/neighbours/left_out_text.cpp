#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "pick/neighbours/leave_one_out.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"

namespace headroom::pick {
namespace {

using nlohmann::ordered_json;

template <class... Args>
void append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

void add_row(std::string& text, const std::string& first, const LossOfMany& loss) {
  if (loss.answers == 0) {
    append(text, "{}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}\n", first, 0, loss.missing, "", "", "");
    return;
  }
  append(text, "{}  {:>7}  {:>7}  {:>7}  {:>7.2f}  {:>7.2f}  {}\n", first, loss.answers,
         loss.missing, loss.large, loss.median, loss.worst, loss.worst > 1 ? loss.worst_where : "");
}

ordered_json loss_json(const LossOfMany& loss) {
  const bool any = loss.answers > 0;
  return {{"answers", loss.answers},
          {"without_time", loss.missing},
          {"large", loss.large},
          {"median_loss", any ? ordered_json(loss.median) : ordered_json(nullptr)},
          {"worst_loss", any ? ordered_json(loss.worst) : ordered_json(nullptr)},
          {"worst_where", loss.worst_where}};
}

const char* word_of(judge::Loss verdict) {
  if (verdict == judge::Loss::little) return "little";
  return verdict == judge::Loss::large ? "large" : "unknown";
}

}  // namespace

std::string evidence(const LeaveOneOut& table) {
  const LossOfMany& all = table.all;
  if (all.answers == 0) return "";
  return fmt::format(
      "asked about each other in the same way, the machines of the store gave {}, which lost "
      "{:.1f} "
      "% in the median and {:.1f} % at worst{}",
      counted(all.answers, "answer"), 100 * (all.median - 1), 100 * (all.worst - 1),
      all.worst > 1 ? fmt::format(" ({})", all.worst_where) : "");
}

std::string to_text(const LeaveOneOut& table) {
  std::size_t width = 7;
  for (const LeftOutMachine& row : table.machines) width = std::max(width, row.machine.size());
  for (const LossOfMany& row : table.by_shape) width = std::max(width, row.name.size());
  std::string text =
      "time of what the nearest other machine would choose, over the machine's own fastest\n";
  const auto head = [&](const char* first, const char* second, const char* last) {
    append(text, "\n{:<{}}{}  {:>7}  {:>7}  {:>7}  {:>7}  {:>7}  {}\n", first, width, second,
           "answers", "no time", "slower", "median", "worst", last);
  };
  head("machine", fmt::format("  {:<{}}  {:<9}", "asked", width, "is").c_str(), "where");
  for (const LeftOutMachine& row : table.machines) {
    add_row(text,
            fmt::format("{:<{}}  {:<{}}  {:<9}", row.machine, width,
                        row.nearest.empty() ? "nobody" : row.nearest, width, row.nearness),
            row.loss);
  }
  head("shape", "", "on");
  for (const LossOfMany& row : table.by_shape) {
    add_row(text, fmt::format("{:<{}}", row.name, width), row);
  }
  add_row(text, fmt::format("{:<{}}", "all", width), table.all);
  append(text,
         "\nslower: beyond {:.3g} %, and beyond the noise; no time: the choice was not measured "
         "there\n",
         100 * table.margin);
  for (const LeftOutMachine& row : table.machines) {
    if (!row.reasons.empty()) {
      append(text, "{} asks {}: distance {:.2f}: {}\n", row.machine, row.nearest, row.distance,
             row.reasons);
    }
  }
  return text;
}

std::string to_json(const LeaveOneOut& table) {
  ordered_json machines = ordered_json::array();
  for (const LeftOutMachine& row : table.machines) {
    ordered_json shapes = ordered_json::array();
    for (const BorrowedShape& shape : row.shapes) {
      ordered_json loss = shape.measured ? ordered_json(shape.loss) : ordered_json(nullptr);
      shapes.push_back({{"shape", shape.shape},
                        {"from", shape.from},
                        {"choice", shape.choice},
                        {"own", shape.own},
                        {"loss", loss},
                        {"verdict", shape.measured ? word_of(shape.verdict) : "no time"}});
    }
    machines.push_back({{"machine", row.machine},
                        {"processor", row.processor},
                        {"nearest", row.nearest},
                        {"nearness", row.nearness},
                        {"distance", row.distance},
                        {"reasons", row.reasons},
                        {"loss", loss_json(row.loss)},
                        {"shapes", shapes}});
  }
  ordered_json by_shape = ordered_json::object();
  for (const LossOfMany& row : table.by_shape) by_shape[row.name] = loss_json(row);
  const ordered_json json{{"schema", "headroom.leave-one-out/1"},
                          {"margin", table.margin},
                          {"all", loss_json(table.all)},
                          {"by_shape", by_shape},
                          {"machines", machines}};
  return headroom::to_text(json, 2) + "\n";
}

}  // namespace headroom::pick
