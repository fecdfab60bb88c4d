#include "show/versions/bisect_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bisect/commit_builds.hpp"
#include "program/numbers.hpp"

namespace headroom::show {
namespace {

using bisect::Asked;
using bisect::End;
using bisect::Outcome;

std::string ends_lines(const Outcome& outcome) {
  std::string text = fmt::format("GOOD  {}\nBAD   {}\n", outcome.good, outcome.bad);
  if (outcome.ends.slower.empty()) return text;
  std::size_t width = 4;
  for (const bisect::EndsCell& cell : outcome.ends.slower) width = std::max(width, cell.id.size());
  fmt::format_to(std::back_inserter(text), "\n{:<{}}  BAD/GOOD  95 % interval\n", "cell", width);
  for (const bisect::EndsCell& cell : outcome.ends.slower) {
    fmt::format_to(std::back_inserter(text), "{:<{}}  {:>8.3f}  {:.3f} - {:.3f}\n", cell.id, width,
                   cell.difference.ratio, cell.difference.ci95.low, cell.difference.ci95.high);
  }
  return text + fmt::format("{} of {} slower, together {:.3f}\n", outcome.ends.slower.size(),
                            counted(outcome.ends.compared, "cell"), outcome.ends.ratio);
}

std::string asked_line(const Asked& asked) {
  const bisect::CommitRecord& record = asked.record;
  const std::string ratio = record.rounds > 0 ? fmt::format("{:.3f}", record.ratio) : "-";
  std::string text = fmt::format("{}  {:<11}  {:>7}  {}\n", bisect::short_name(asked.commit),
                                 to_string(*record.finding), ratio, asked.subject);
  if (!record.reason.empty()) text += fmt::format("              {}\n", record.reason);
  if (record.between) {
    text += "              differs from both ends: more than one commit made the cells slower\n";
  }
  return text;
}

std::string asked_lines(const Outcome& outcome) {
  if (outcome.asked.empty()) return "";
  std::string text = fmt::format("\n{:<12}  {:<11}  {:>7}\n", "commit", "finding", "of GOOD");
  for (const Asked& asked : outcome.asked) text += asked_line(asked);
  return text;
}

std::string answer(const Outcome& outcome) {
  switch (outcome.end) {
    case End::found: {
      const Asked& culprit = outcome.candidates.back();
      return fmt::format("the cells are slower since {} {}\n", culprit.commit, culprit.subject);
    }
    case End::several: {
      std::string text = fmt::format("the cells are slower since one of these {}:\n",
                                     counted(outcome.candidates.size(), "commit"));
      for (const Asked& each : outcome.candidates) {
        text += fmt::format("    {} {}\n", bisect::short_name(each.commit), each.subject);
      }
      return text;
    }
    case End::no_difference:
      if (outcome.ends.compared == 0) return "no cell has a time in both GOOD and BAD\n";
      return fmt::format("none of {} is slower in BAD than in GOOD by more than {:.3g} %{}\n",
                         counted(outcome.ends.compared, "cell"), 100 * outcome.ends.margin,
                         outcome.ends.in_doubt
                             ? ", but not all are the same; a quieter machine may tell more"
                             : "");
    case End::stopped:
      return "stopped; the same command goes on\n";
  }
  return "";
}

}  // namespace

std::string bisect_table(const Outcome& outcome) {
  return fmt::format("{}{}\n{} after GOOD up to BAD, {}\n{}", ends_lines(outcome),
                     asked_lines(outcome), counted(outcome.commits, "commit"),
                     counted(outcome.builds, "build"), answer(outcome));
}

}  // namespace headroom::show
