#include "show/results_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backends/backend.hpp"
#include "judge/core_rate.hpp"
#include "judge/credible_roofs.hpp"
#include "judge/noise.hpp"
#include "judge/ranking.hpp"
#include "program/numbers.hpp"
#include "record/results_folder.hpp"
#include "show/shares.hpp"
#include "show/usage_columns.hpp"
#include "show/weights_words.hpp"

namespace headroom::show {
namespace {

using Results = std::vector<const record::CellResult*>;

// A cell and its comparisons with the baseline and with `wrapper`, if there are any.
struct Row {
  const record::CellResult* result = nullptr;
  std::optional<judge::CellDifference> baseline, wrapper;
  std::optional<double> cores;  // if they were fewer than its threads
};

std::string speed_up(const std::optional<judge::CellDifference>& over) {
  if (!over) return "-";
  if (over->difference.verdict == judge::Verdict::not_distinguishable) return "n.d.";
  if (over->difference.verdict == judge::Verdict::same) return "same";
  const double factor = 1 / over->raw_ratio;
  return factor < 10 ? fmt::format("{:.2f}x", factor) : fmt::format("{:.0f}x", factor);
}

// Columns that only some blocks need: the numbers where not all is f32, the ranks where some cells
// have several.
struct Columns {
  explicit Columns(const Results& rivals) : usage(rivals) {
    for (const record::CellResult* rival : rivals) {
      numbers = numbers || rival->cell.numbers != Numbers{} || rival->cell.any_precision;
      width = std::max(width, plan::numbers_words(rival->cell).size());
      ranks = ranks || rival->cell.ranks > 1;
    }
  }
  std::string extra(const std::string& of_numbers, const std::string& of_ranks) const {
    return (numbers ? fmt::format("{:<{}} ", of_numbers, width) : "") +
           (ranks ? fmt::format("{:>5} ", of_ranks) : "");
  }

  bool numbers = false;
  std::size_t width = 10;  // of their column
  bool ranks = false;
  UsageColumns usage;
};

// Beside the limit that decides.
std::string error_words(const reference::Comparison& error) {
  if (!error.by_element()) return fmt::format("{:.1e} / {:.0e}", error.nrmse, error.limits.nrmse);
  return fmt::format("{:.1e}, {:.2g} of its bound", error.nrmse, error.bound_ratio);
}

std::string line_of(const Row& row, const Columns& columns, Shares& shares) {
  const record::CellResult& result = *row.result;
  std::string line = fmt::format("  {:<8} {:<8} ", result.cell.backend, result.way());
  line += columns.extra(plan::numbers_words(result.cell), fmt::format("{}", result.cell.ranks));
  line += fmt::format("{:>3}{}", result.threads, row.cores ? '*' : ' ');
  if (result.status != record::Status::ok) {
    return fmt::format("{} {}: {}\n", line, to_string(result.status), result.reason);
  }
  // The mark of a share above 100 % stands right of its column.
  std::string peak = "-";
  bool above = false;
  if (result.peak_fraction) {
    peak = format_share(*result.peak_fraction, 1);
    above = shares.above(*result.peak_fraction, arithmetic_limit(result), 1);
  }
  const bool has_interval = result.time.samples.size() >= statistics::kLeastSamples;
  const std::string interval = has_interval ? format_share(half_width(result.time), 1) : "-";
  return fmt::format("{} {:>9} {:>7}  {:>8.2f} {:>7}{} {:>9} {:>9}{}   {}\n", line,
                     format_seconds(result.time.median), interval, result.gflops, peak,
                     above ? kAboveMark : ' ', speed_up(row.baseline), speed_up(row.wrapper),
                     columns.usage.fields(result), error_words(*result.error));
}

void add_baselines(const Results& rivals, std::vector<Row>& rows, judge::Comparisons& comparisons) {
  for (Row& row : rows) {
    const record::CellResult& cell = *row.result;
    comparisons.add(judge::baseline_of(rivals, cell), cell,
                    [&row](const judge::CellDifference& found) { row.baseline = found; });
    comparisons.add(judge::wrapper_of(rivals, cell), cell,
                    [&row](const judge::CellDifference& found) { row.wrapper = found; });
  }
}

std::string name_of(const record::CellResult& result) {
  std::string name = fmt::format("{} {}", result.cell.backend, result.way());
  const bool named = result.cell.numbers != Numbers{} || result.cell.any_precision;
  if (named) name += " " + plan::numbers_words(result.cell);
  if (result.cell.ranks == 1) return fmt::format("{} ({})", name, result.threads);
  return fmt::format("{} ({} ranks of {})", name, result.cell.ranks, result.threads);
}

// Claims no order among cells whose order may be noise.
std::string fastest_line(const std::vector<judge::Ranked>& rivals) {
  std::vector<std::string> tied;
  for (const judge::Ranked& rival : rivals) {
    if (rival.tied()) tied.push_back(name_of(*rival.result));
  }
  const Precision limit = accuracy_class(rivals.front().result->cell.numbers.precision);
  const std::string within =
      limit == Precision::f32 ? "" : fmt::format(" within the limits of {}", to_string(limit));
  if (tied.size() == 1) return fmt::format("  fastest{}: {}\n", within, tied.front());
  return fmt::format("  not distinguishable{}, lowest median first: {}\n", within,
                     fmt::join(tied, ", "));
}

const record::CellResult* fastest_of(const Results& rivals) {
  const record::CellResult* fastest = nullptr;
  for (const record::CellResult* rival : rivals) {
    if (rival->status != record::Status::ok) continue;
    if (fastest == nullptr || rival->time.median < fastest->time.median) fastest = rival;
  }
  return fastest;
}

// Of few rows: how fast the fastest cell reads, and which of the two roofs it is nearer to.
std::string reading_line(const Results& rivals, Shares& shares) {
  const record::CellResult* fastest = fastest_of(rivals);
  if (fastest == nullptr || !fastest->reading || !fastest->reading->fraction) return "";
  const record::Reading& reading = *fastest->reading;
  const double arithmetic = fastest->peak_fraction.value_or(0);
  const std::string roof = fastest->cell.ranks > 1
                               ? "the threads of all ranks read"
                               : fmt::format("{} {}", counted(fastest->threads, "thread"),
                                             fastest->threads == 1 ? "reads" : "read");
  return fmt::format("  {}: reads {} at {:.1f} GB/s, {} of what {} at that size; {} binds\n",
                     name_of(*fastest), format_bytes(reading.bytes), reading.gbps,
                     shares.text(*reading.fraction, Limit::memory, 1), roof,
                     *reading.fraction >= arithmetic ? "memory" : "arithmetic");
}

// One column has room for one roof, and no product can pass that of the tiles: the fastest cell
// names both.
std::string share_line(const Results& rivals, Shares& shares) {
  const record::CellResult* fastest = fastest_of(rivals);
  if (fastest == nullptr || !fastest->peak_fraction || !fastest->tile_fraction) return "";
  return fmt::format("  {}: {} of the multiply-adds, {} of register tiles from the L1\n",
                     name_of(*fastest),
                     shares.text(*fastest->peak_fraction, arithmetic_limit(*fastest), 1),
                     shares.text(*fastest->tile_fraction, Limit::beside, 1));
}

std::string core_lines(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    if (!row.cores) continue;
    fmt::format_to(std::back_inserter(text), "  * {}: {}\n", name_of(*row.result),
                   judge::core_rate_words(*row.result, *row.cores));
  }
  return text;
}

// What the column `of peak` is a share of; empty if no cell has one.
std::string peak_words(const std::vector<record::CellResult>& results) {
  const auto shared =
      std::find_if(results.begin(), results.end(),
                   [](const record::CellResult& result) { return result.peak_fraction; });
  if (shared == results.end()) return "";
  const bool ranks = std::any_of(results.begin(), results.end(), [](const auto& result) {
    return result.peak_fraction && result.cell.ranks > 1;
  });
  return fmt::format("of peak: share of the rate of multiply-adds in registers, measured {}\n",
                     shared->control ? "right before and after each sample"
                                     : "once, before the first cell") +
         (ranks ? "of several ranks: of as many times the rate on the leading one's threads\n"
                : "");
}

// A line for each cell, but one for all that have no time for the same reason.
std::string lines_of(const std::vector<Row>& rows, const Results& rivals, const Columns& columns,
                     Shares& shares) {
  std::set<const record::CellResult*> together;
  std::string shared;
  for (const Results& cells : record::without_time_by_reason(rivals)) {
    if (cells.size() == 1) continue;
    together.insert(cells.begin(), cells.end());
    std::vector<std::string> names;
    for (const record::CellResult* cell : cells) names.push_back(name_of(*cell));
    shared += fmt::format("  {} {}: {}: {}\n", counted(cells.size(), "cell"),
                          to_string(cells.front()->status), cells.front()->reason,
                          fmt::join(names, ", "));
  }
  std::string text;
  for (const Row& row : rows) {
    if (!together.contains(row.result)) text += line_of(row, columns, shares);
  }
  return text + shared;
}

std::string block_of(const std::vector<Row>& rows, const Results& rivals, Shares& shares) {
  const Case& shape = rivals.front()->shape;
  const Columns columns(rivals);
  const auto checked = std::find_if(
      rivals.begin(), rivals.end(),
      [](const record::CellResult* rival) { return rival->status == record::Status::ok; });
  std::string text = fmt::format(
      "\n{}  {:.3g} GFLOP, {}", shape.id(), shape.flops().total() * 1e-9,
      weights_words(shape, rivals.front()->cell.numbers,
                    checked != rivals.end() ? (*checked)->storage_error : std::nullopt,
                    checked != rivals.end() ? (*checked)->attention_shift : std::nullopt));
  if (checked != rivals.end() && (*checked)->checked_rows < shape.rows()) {
    text += fmt::format(", {} of {} rows checked", (*checked)->checked_rows, shape.rows());
  }
  text += fmt::format("\n  {:<8} {:<8} ", "backend", "formul.");
  text += columns.extra("numbers", "ranks");
  text += fmt::format("{:>3}  {:>9} {:>7}  {:>8} {:>7}  {:>9} {:>9}{}   {}\n", "thr", "time", "+-",
                      "GFLOP/s", "of peak", fmt::format("/ {}", baseline_backend()), "/ wrapper",
                      columns.usage.head(), "error / limit");
  return text + lines_of(rows, rivals, columns, shares);
}

// One block per group. Interleaved cells finish in random order, but people expect the order of the
// axes.
std::vector<Results> by_shape(const std::vector<record::CellResult>& results) {
  std::vector<Results> shapes;
  for (const record::CellResult& result : results) {
    const auto same_group = [&](const record::CellResult& first) {
      return first.shape == result.shape &&
             first.cell.numbers.as_stored() == result.cell.numbers.as_stored();
    };
    if (shapes.empty() || !same_group(*shapes.back().front())) shapes.emplace_back();
    shapes.back().push_back(&result);
  }
  for (Results& rivals : shapes) {
    std::stable_sort(rivals.begin(), rivals.end(),
                     [](const record::CellResult* a, const record::CellResult* b) {
                       return a->cell.order < b->cell.order;
                     });
  }
  return shapes;
}

}  // namespace

double half_width(const record::TimeSummary& time) {
  return 0.5 * (time.ci95.high - time.ci95.low) / time.median;
}

std::string results_table(const std::vector<record::CellResult>& results,
                          const record::Peaks& measured) {
  const record::Peaks roofs = judge::credible_roofs(measured, results);
  const std::vector<Results> shapes = by_shape(results);
  const std::optional<judge::NoiseFloor> noise = judge::noise_floor(results);
  const double floor = noise ? noise->floor : 0;
  std::vector<std::vector<Row>> rows(shapes.size());
  judge::Comparisons comparisons(floor);
  Results all;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const record::CellResult* result : shapes[i]) {
      rows[i].push_back({result, {}, {}, judge::too_few_cores(*result, roofs)});
    }
    add_baselines(shapes[i], rows[i], comparisons);
    all.insert(all.end(), shapes[i].begin(), shapes[i].end());
  }
  comparisons.run();
  // By group, because the lines of all its contests stand below it.
  std::map<std::pair<std::string, Numbers>, std::string> fastest;
  const auto group_of = [](const record::CellResult& result) {
    return std::pair(result.shape.id(), result.cell.numbers.as_stored());
  };
  for (const std::vector<judge::Ranked>& rivals : judge::rank(all, floor)) {
    if (rivals.size() > 1) fastest[group_of(*rivals.front().result)] += fastest_line(rivals);
  }
  std::string text;
  Shares shares;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    text += block_of(rows[i], shapes[i], shares);
    text += fastest[group_of(*shapes[i].front())];
    text += share_line(shapes[i], shares) + reading_line(shapes[i], shares) + core_lines(rows[i]);
  }
  std::string legend = peak_words(results);
  if (const std::string note = usage_note(results); !note.empty()) legend += note + "\n";
  for (const std::string& reason : shares.reasons()) legend += reason + "\n";
  if (!fastest.empty()) {
    legend +=
        "n.d.: not distinguishable; same: the 95 % interval of the ratio is within 3 % or the "
        "noise floor\n";
  }
  return legend.empty() ? text : text + "\n" + legend;
}

std::string noise_lines(const std::vector<record::CellResult>& results) {
  std::string text;
  for (const judge::ControlDrift& drift : judge::control_drift(results)) {
    fmt::format_to(std::back_inserter(text),
                   "control on {}: {:.1f} GFLOP/s, varied by {:.1f} % from cell to cell, "
                   "by {:.1f} % within a cell\n",
                   judge::control_words(drift), drift.gflops, 100 * drift.between,
                   100 * drift.within);
  }
  if (const std::optional<judge::NoiseFloor> floor = judge::noise_floor(results)) {
    fmt::format_to(std::back_inserter(text),
                   "noise floor: {:.1f} % between one layer and itself, timed twice in {}\n",
                   100 * floor->floor, counted(floor->count, "shape"));
  }
  return text;
}

}  // namespace headroom::show
