#include "report/words/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "program/numbers.hpp"
#include "report/words/wording.hpp"

namespace headroom::report {
namespace {

using record::CellResult;

// How a backend stands in a list of shapes.
struct Record {
  std::size_t alone = 0, unopposed = 0, shared = 0, open = 0, behind = 0;
  std::vector<std::string> sharers, doubtful, winners;
};

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

struct Leaders {
  std::vector<std::string> tied;      // little is lost by linking these
  std::vector<std::string> doubtful;  // perhaps
};

Leaders other_leaders(const ShapeFindings& shape, const std::string& backend) {
  Leaders others;
  for (const std::string& name : shape.leaders()) {
    if (name == backend) continue;
    const bool tied = shape.best_of(name)->loss() == judge::Loss::little;
    (tied ? others.tied : others.doubtful).push_back(name);
  }
  return others;
}

Record record_of(const std::string& backend, const Shapes& shapes) {
  Record record;
  for (const ShapeFindings* shape : shapes) {
    const std::vector<std::string> leaders = shape->leaders();
    if (!shape->leads(backend)) {
      ++record.behind;
      add_once(record.winners, leaders.front());
    } else if (leaders.size() == 1) {
      ++(shape->runner_up() != nullptr ? record.alone : record.unopposed);
    } else {
      const Leaders others = other_leaders(*shape, backend);
      ++(others.doubtful.empty() ? record.shared : record.open);
      for (const std::string& name : others.tied) {
        add_once(others.doubtful.empty() ? record.sharers : record.doubtful, name);
      }
      for (const std::string& name : others.doubtful) add_once(record.doubtful, name);
    }
  }
  return record;
}

}  // namespace

Prose sureness_sentence(const std::string& backend, const Shapes& shapes) {
  if (shapes.size() == 1) return {};
  const Record record = record_of(backend, shapes);
  Prose prose{plain(fmt::format("Of the {} shapes, ", shapes.size())), code(backend),
              plain(" is ")};
  bool first = true;
  const auto add = [&](const char* how, const std::vector<std::string>& names, std::size_t count) {
    if (count == 0) return;
    prose.push_back(plain(fmt::format("{}{}", first ? "" : ", ", how)));
    append(prose, listed(names));
    prose.push_back(plain(fmt::format(" in {}", count)));
    first = false;
  };
  add("the clear winner", {}, record.alone);
  add("the only one with a time", {}, record.unopposed);
  add("tied with ", record.sharers, record.shared);
  add("not distinguishable from ", record.doubtful, record.open);
  add("slower than ", record.winners, record.behind);
  prose.push_back(plain("."));
  return prose;
}

Prose open_sentence(const std::vector<std::string>& backends, const ShapeFindings& focus) {
  if (backends.empty()) return {};
  Prose prose{plain("Whether ")};
  append(prose, listed(backends));
  prose.push_back(plain(fmt::format(", which {} fewer dependencies, would do as well is unclear",
                                    backends.size() == 1 ? "has" : "have")));
  bool first = true;
  for (const std::string& name : backends) {
    const Contest* best = focus.best_of(name);
    if (best == nullptr || !best->behind_fastest) continue;
    append(prose, {plain(first ? fmt::format(" (with {}, ", name_with_heads(focus.shape)) : "; "),
                   code(name_of(*best->cell)), plain(" takes "),
                   plain(range(best->behind_fastest->difference.ci95)), plain(" times as long as "),
                   code(name_of(*best->behind_fastest->baseline)),
                   plain(first ? ", which has the lowest median" : "")});
    first = false;
  }
  prose.push_back(plain(first ? "." : "): more samples or a quieter machine would tell."));
  return prose;
}

Prose limit_sentence(const Findings& findings, const CellResult& cell) {
  const std::optional<Share> share = share_of_limit(*findings.folder, cell, findings.roofs);
  const Precision precision = cell.cell.numbers.precision;
  if (!share && precision != Precision::f32) {
    return {
        plain(fmt::format("How close a pass comes to the machine's limit is unknown: no roof was "
                          "measured for {}.",
                          to_string(precision)))};
  }
  if (!share) {
    return {
        plain("How close a pass comes to the machine's limit is unknown: no peak was measured.")};
  }
  const std::string limit = fmt::format("With {}, the limit is {}: ", name_with_heads(cell.shape),
                                        share->of_memory ? "memory" : "arithmetic");
  const std::string reached = format_share(share->value);
  const statistics::Interval ci95 = share_ci95(*share, cell);
  const std::string interval = fmt::format(" ({:.0f} to {:.0f})", 100 * ci95.low, 100 * ci95.high);
  // The highest number that is said.
  const double most = std::max({share->value, ci95.high, share->of_tiles.value_or(0)});
  const std::string beyond =
      show::above_limit(most)
          ? fmt::format(" More than 100 % means that {}.", show::why_above(share->limit))
          : "";
  if (!share->of_memory) {
    Prose prose{
        plain(limit + "the pass reaches "), strong(reached),
        plain(interval +
              (precision == Precision::f32
                   ? std::string(" of the peak multiply-add rate")
                   : fmt::format(" of the peak rate of products of {}", to_string(precision))) +
              ", measured on the same number of threads")};
    if (share->of_tiles) {
      append(prose, {plain(", and "), strong(format_share(*share->of_tiles)),
                     plain(" of the rate of register tiles with their operands in the L1, which "
                           "no matrix product can exceed")});
    }
    prose.push_back(plain("." + beyond));
    return prose;
  }
  const bool cached = cell.shape.past > 0;
  const char* what = !share->of_working_set ? "the pass moves its weights, input and output at "
                     : cached               ? "the pass reads weights and cache at "
                                            : "the pass reads its weights at ";
  const char* roof = share->of_working_set
                         ? " of the bandwidth that these threads reach re-reading as much data "
                           "(measured once, before the cells)."
                         : " of the read bandwidth (measured once, before the cells).";
  return {plain(limit + what), strong(reached), plain(interval + roof + beyond)};
}

Prose without_times(const Findings& findings) {
  std::array<std::size_t, 5> counts{};
  for (const auto& result : findings.folder->results) {
    ++counts[static_cast<std::size_t>(result.status)];
  }
  std::string text;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i],
                        to_string(static_cast<record::Status>(i)));
  }
  return {plain(fmt::format("Of {}: {}. The reasons are listed below.",
                            counted(findings.folder->results.size(), "cell"), text))};
}

}  // namespace headroom::report
