#include "measure/again/measure_again.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>

#include "headroom/error.hpp"
#include "measure/group/cell_result.hpp"
#include "processor/text_file.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "program/run_program.hpp"
#include "program/scratch_folder.hpp"
#include "program/signals.hpp"

namespace headroom::measure {
namespace {

using nlohmann::ordered_json;
using record::CellResult;
using record::ResultsFolder;

std::int64_t whole_number(const ResultsFolder& folder, const char* place, std::int64_t usual) {
  const ordered_json& value = value_at(folder.environment, place);
  return value.is_number_integer() ? value.get<std::int64_t>() : usual;
}

// What each round takes of what the folder's cells took.
std::string of_a_round(std::int64_t all) {
  return fmt::format("{}", std::max<std::int64_t>(1, (all + kRounds - 1) / kRounds));
}

std::vector<std::string> arguments_of(const ResultsFolder& folder,
                                      const std::vector<std::string>& ids) {
  const ordered_json& axes = value_at(folder.environment, "/sweep/identity/axes");
  if (!axes.is_object()) {
    throw InvalidArgument(fmt::format(
        "{}: its environment.json does not say with which axes it was measured; measure "
        "it with headroom sweep, or leave the programs out",
        folder.path.string()));
  }
  std::vector<std::string> words{"sweep"};
  for (const auto& [axis, value] : axes.items()) {
    if (value == true) words.push_back("--" + axis);
    if (value.is_string()) words.push_back(fmt::format("--{}={}", axis, value.get<std::string>()));
  }
  const ordered_json& min_time = value_at(folder.environment, "/sweep/min_time_s");
  if (min_time.is_number()) {
    words.push_back(fmt::format("--min-time={:.9f}", min_time.get<double>()));
  }
  if (text_at(folder.environment, "/sweep/cache", "warm") == "cold") {
    words.emplace_back("--cache=cold");
  }
  words.push_back(fmt::format("--seed={}", whole_number(folder, "/sweep/seed", 1)));
  words.push_back("--repetitions=" +
                  of_a_round(whole_number(folder, "/sweep/repetitions_asked", 16)));
  words.push_back("--processes=" + of_a_round(whole_number(folder, "/sweep/processes", 8)));
  words.push_back(fmt::format("--only={}", fmt::join(ids, ",")));
  return words;
}

std::string last_line(const std::filesystem::path& log) {
  std::string text = processor::read_text(log).value_or("");
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

// One of the two programs, with what it has measured so far.
class Side {
 public:
  Side(const MeasuredBy& measured, const char* name, const ScratchFolder& scratch,
       const std::vector<std::string>& ids)
      : measured_(measured),
        name_(name),
        scratch_(scratch),
        arguments_(arguments_of(*measured.folder, ids)) {}

  void run(int round) {
    const std::filesystem::path out = scratch_.path() / fmt::format("{}-{}", name_, round);
    const std::filesystem::path log = scratch_.path() / "log";
    std::vector<std::string> arguments = arguments_;
    arguments.push_back("--out=" + out.string());
    const int code = run_program(measured_.program, arguments, log);
    if (stop_signal() != 0) return;
    scratch_.require();
    // A failed check is a result.
    if (code != kDone && code != kCheckFailed) {
      throw std::runtime_error(fmt::format("{} ended with {} while it measured again: {}",
                                           measured_.program, code, last_line(log)));
    }
    ResultsFolder folder = record::read_results_folder(out);
    if (round == 0) {
      require_revision(folder);
      first_ = folder;
    }
    for (CellResult& result : folder.results) parts_[result.cell.id].push_back(std::move(result));
  }

  ResultsFolder joined() const {
    ResultsFolder all = first_;
    const auto seed = static_cast<std::uint64_t>(whole_number(all, "/sweep/seed", 1));
    for (CellResult& result : all.results) {
      const std::vector<CellResult>& parts = parts_.at(result.cell.id);
      const auto broken = std::find_if(parts.begin(), parts.end(),
                                       [](const CellResult& part) { return !part.has_time(); });
      result = broken != parts.end() ? *broken
                                     : join_parts(parts, record::peaks_of(all.environment), seed);
    }
    return all;
  }

 private:
  void require_revision(const ResultsFolder& found) const {
    constexpr const char* kRevision = "/build/git_revision";
    const std::string then = text_at(measured_.folder->environment, kRevision, "");
    const std::string now = text_at(found.environment, kRevision, "");
    if (then == now) return;
    throw InvalidArgument(
        fmt::format("{} is of revision '{}', but {} was measured by '{}'; name the "
                    "program that measured it",
                    measured_.program, now, measured_.folder->path.string(), then));
  }

  const MeasuredBy& measured_;
  const char* name_;
  const ScratchFolder& scratch_;
  std::vector<std::string> arguments_;
  ResultsFolder first_;
  std::map<std::string, std::vector<CellResult>> parts_;
};

}  // namespace

SecondRun measure_again(const MeasuredBy& base, const MeasuredBy& next,
                        const std::vector<std::string>& ids,
                        const std::function<void(const std::string&)>& note) {
  const ScratchFolder scratch("headroom-again");
  Side first(base, "base", scratch, ids);
  Side second(next, "new", scratch, ids);
  for (int round = 0; round < kRounds; ++round) {
    note(fmt::format("measuring again, round {} of {}", round + 1, kRounds));
    // Neither always comes first, when the machine may still be cool.
    Side* order[]{&first, &second};
    if (round % 2 == 1) std::swap(order[0], order[1]);
    for (Side* side : order) {
      side->run(round);
      if (stop_signal() != 0) return {};
    }
  }
  return {first.joined(), second.joined()};
}

}  // namespace headroom::measure
