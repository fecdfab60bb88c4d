#include "show/comparison_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/text/shown.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"

namespace headroom::show {

std::string source_of(const record::ResultsFolder& folder) {
  return fmt::format("{} (revision {}, {})", shown_path(folder.path),
                     text_at(folder.environment, "/build/git_revision"),
                     text_at(folder.environment, "/time"));
}

std::string time_or_status(const record::CellResult* result) {
  if (result == nullptr) return "-";
  if (result->status != record::Status::ok) return std::string(to_string(result->status));
  return format_seconds(result->time.median);
}

namespace {

using nlohmann::ordered_json;

// The remark on a cell without a time on both sides.
std::string remark(const judge::ComparedCell& cell) {
  if (cell.next == nullptr) return "only in BASE";
  if (cell.base == nullptr) return "only in NEW";
  const record::CellResult& told =
      cell.next->status == record::Status::ok ? *cell.base : *cell.next;
  return fmt::format("{}: {}", cell.regression() ? "REGRESSION" : "not compared", told.reason);
}

// What a gate makes of a regression.
std::string gate_words(const judge::FolderComparison& comparison, const judge::ComparedCell& cell) {
  if (!cell.regression()) return "";
  if (!comparison.in_gate(cell)) return ", does not gate";
  if (!cell.again) return "";
  return fmt::format(", {} again ({:.3f}, {:.3f} - {:.3f})", cell.refuted ? "not seen" : "seen",
                     cell.again->ratio, cell.again->ci95.low, cell.again->ci95.high);
}

std::string row(const judge::FolderComparison& comparison, const judge::ComparedCell& cell,
                std::size_t width) {
  std::string line = fmt::format("{:<{}}  {:>11} {:>11}", cell.id(), width,
                                 time_or_status(cell.base), time_or_status(cell.next));
  if (!cell.difference) return fmt::format("{}  {:>33}  {}\n", line, "", remark(cell));
  const judge::Difference& difference = *cell.difference;
  return fmt::format("{}  {:>6.3f}  {:>8.3f}  {:>6.3f} - {:<6.3f}  {}{}{}\n", line, cell.raw_ratio,
                     difference.ratio, difference.ci95.low, difference.ci95.high,
                     to_string(difference.verdict), cell.peer() ? " (peer)" : "",
                     gate_words(comparison, cell));
}

struct Left {
  std::size_t only_base = 0;
  std::size_t only_next = 0;
  std::size_t without_time = 0;
};

Left count_left(const judge::FolderComparison& comparison) {
  Left left;
  for (const judge::ComparedCell& cell : comparison.cells) {
    if (cell.next == nullptr) {
      ++left.only_base;
    } else if (cell.base == nullptr) {
      ++left.only_next;
    } else if (!cell.difference) {
      ++left.without_time;
    }
  }
  return left;
}

// If most cells moved together, the machine changed rather than the program.
double median_ratio(const judge::FolderComparison& comparison) {
  std::vector<double> ratios;
  for (const judge::ComparedCell& cell : comparison.cells) {
    if (cell.difference) ratios.push_back(cell.difference->ratio);
  }
  return ratios.empty() ? 1 : statistics::median(std::move(ratios));
}

// Where not every regression fails a gate.
std::string gate_line(const judge::FolderComparison& comparison) {
  if (comparison.gating() == comparison.regressions()) return "";
  std::size_t outside = 0, refuted = 0;
  for (const judge::ComparedCell& cell : comparison.cells) {
    if (!cell.regression() || comparison.gates(cell)) continue;
    ++(comparison.in_gate(cell) ? refuted : outside);
  }
  return fmt::format(
      "{} of them gate; {} of backends that nobody would link (--gate all counts "
      "them), {} not seen again\n",
      comparison.gating(), outside, refuted);
}

}  // namespace

std::string comparison_summary(const judge::FolderComparison& comparison) {
  const Left left = count_left(comparison);
  std::string text =
      fmt::format("{} cells compared: {} faster, {} slower, {} same, {} not distinguishable",  //
                  comparison.compared(), comparison.count(judge::Verdict::faster),
                  comparison.count(judge::Verdict::slower), comparison.count(judge::Verdict::same),
                  comparison.count(judge::Verdict::not_distinguishable));
  fmt::format_to(std::back_inserter(text),
                 "; not compared: {} without a time, {} only in BASE, {} only in NEW\n",
                 left.without_time, left.only_base, left.only_next);
  if (comparison.by_control() > 0) {
    fmt::format_to(std::back_inserter(text),
                   "{} of them by samples corrected by their control; raw is the ratio of the "
                   "times as measured\n",
                   comparison.by_control());
  }
  if (comparison.compared() > 0) {
    const double margin = std::max(comparison.threshold, comparison.noise_floor);
    fmt::format_to(
        std::back_inserter(text),
        "median NEW/BASE {:.3f}; faster and slower: beyond {:.3g} %{}, the 95 % "
        "interval does not reach 1, and p < {} (Welch, by processes, corrected for {} cells)\n",
        median_ratio(comparison), 100 * margin,
        comparison.noise_floor > comparison.threshold ? ", the noise floor" : "",
        judge::kSignificance, comparison.compared());
  }
  const auto peers = std::count_if(comparison.cells.begin(), comparison.cells.end(),
                                   [](const judge::ComparedCell& cell) { return cell.peer(); });
  if (peers > 0) {
    fmt::format_to(std::back_inserter(text), "{} of peers, which are no regressions of ours\n",
                   counted(peers, "cell"));
  }
  fmt::format_to(std::back_inserter(text), "{}\n", counted(comparison.regressions(), "regression"));
  return text + gate_line(comparison);
}

namespace {

ordered_json side_json(const record::CellResult* result) {
  if (result == nullptr) return nullptr;
  ordered_json side{
      {"status", to_string(result->status)}, {"isa", result->isa}, {"unit", result->unit}};
  if (result->status != record::Status::ok) {
    side["reason"] = result->reason;
    return side;
  }
  side["median_s"] = result->time.median;
  side["ci95_s"] = {result->time.ci95.low, result->time.ci95.high};
  side["samples"] = result->time.samples.size();
  return side;
}

ordered_json cell_json(const judge::FolderComparison& comparison, const judge::ComparedCell& cell) {
  ordered_json json{
      {"id", cell.id()}, {"base", side_json(cell.base)}, {"new", side_json(cell.next)}};
  if (cell.difference) {
    const judge::Difference& difference = *cell.difference;
    json["ratio"] = difference.ratio;
    json["raw_ratio"] = cell.raw_ratio;
    json["by_control"] = cell.by_control;
    json["ratio_ci95"] = {difference.ci95.low, difference.ci95.high};
    json["p"] = difference.p;
    json["corrected_p"] = difference.corrected_p;
    json["verdict"] = to_string(difference.verdict);
  } else {
    json["verdict"] = nullptr;
  }
  json["peer"] = cell.peer();
  json["regression"] = cell.regression();
  json["linkable"] = cell.linkable;
  json["gates"] = comparison.gates(cell);
  if (cell.again) {
    json["again"] = {{"ratio", cell.again->ratio},
                     {"ratio_ci95", {cell.again->ci95.low, cell.again->ci95.high}},
                     {"verdict", to_string(cell.again->verdict)}};
  }
  return json;
}

ordered_json folder_json(const record::ResultsFolder& folder) {
  return {{"path", folder.path.string()},
          {"git_revision", text_at(folder.environment, "/build/git_revision")},
          {"time", text_at(folder.environment, "/time")}};
}

}  // namespace

std::string comparison_table(const judge::FolderComparison& comparison) {
  std::string text = fmt::format("BASE  {}\nNEW   {}\n\n", source_of(*comparison.base),
                                 source_of(*comparison.next));
  std::size_t width = 4;
  for (const judge::ComparedCell& cell : comparison.cells)
    width = std::max(width, cell.id().size());
  fmt::format_to(std::back_inserter(text), "{:<{}}  {:>11} {:>11}  {:>6}  {:>8}  {:<15}  {}\n",
                 "cell", width, "BASE", "NEW", "raw", "NEW/BASE", "95 % interval", "verdict");
  for (const judge::ComparedCell& cell : comparison.cells) text += row(comparison, cell, width);
  return text + "\n" + comparison_summary(comparison);
}

ordered_json to_json(const judge::FolderComparison& comparison) {
  const Left left = count_left(comparison);
  ordered_json cells = ordered_json::array();
  for (const judge::ComparedCell& cell : comparison.cells)
    cells.push_back(cell_json(comparison, cell));
  return {{"schema", "headroom.compare/1"},
          {"base", folder_json(*comparison.base)},
          {"new", folder_json(*comparison.next)},
          {"threshold", comparison.threshold},
          {"noise_floor", comparison.noise_floor},
          {"warnings", comparison.warnings},
          {"cells", cells},
          {"summary",
           {{"compared", comparison.compared()},
            {"faster", comparison.count(judge::Verdict::faster)},
            {"slower", comparison.count(judge::Verdict::slower)},
            {"same", comparison.count(judge::Verdict::same)},
            {"not_distinguishable", comparison.count(judge::Verdict::not_distinguishable)},
            {"without_time", left.without_time},
            {"only_base", left.only_base},
            {"only_new", left.only_next},
            {"median_ratio", median_ratio(comparison)},
            {"regressions", comparison.regressions()},
            {"gating", comparison.gating()}}}};
}

}  // namespace headroom::show
