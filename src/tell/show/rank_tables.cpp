#include "show/rank_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "program/numbers.hpp"
#include "show/shares.hpp"

namespace headroom::show {
namespace {

double share_of_one(const judge::RankSeries& series, const judge::RankRow& row) {
  return row.measured != nullptr ? row.measured->time.median / series.one->time.median
                                 : row.predicted / series.rows.front().predicted;
}

std::string table_of(const judge::RankSeries& series, const record::Link& link) {
  const record::CellResult& one = *series.one;
  std::string text = fmt::format(
      "\n{}  ranks of {} {} on {} each\n  prediction: by {}\n  {:>5}  {:>10}  {:>10}  {:>11}\n",
      one.contest(), one.cell.backend, one.way(), counted(one.threads, "thread"),
      prediction_basis(link), "ranks", "measured", "predicted", "of one rank");
  for (const judge::RankRow& row : series.rows) {
    const std::string measured =
        row.measured == nullptr ? "-" : format_seconds(row.measured->time.median);
    fmt::format_to(std::back_inserter(text), "  {:>5}  {:>10}  {:>10}  {:>11}\n", row.ranks,
                   measured, format_seconds(row.predicted), share_of_one_rank(series, row));
  }
  return text;
}

}  // namespace

std::string rank_tables(const std::vector<record::CellResult>& results,
                        const record::Peaks& roofs) {
  if (!roofs.link) return "";
  std::vector<const record::CellResult*> all;
  for (const record::CellResult& result : results) all.push_back(&result);
  std::string text;
  bool slower = false;
  for (const judge::RankSeries& series : judge::rank_series(all, *roofs.link)) {
    text += table_of(series, *roofs.link);
    slower = slower || slower_than_one_rank(series);
  }
  if (text.empty()) return "";
  return fmt::format("{}  ~: of the prediction, where nothing was measured{}\n", text,
                     slower ? kSlowerThanOneRank : "");
}

std::string prediction_basis(const record::Link& link) {
  return fmt::format(
      "the phases of one rank, divided as the heads are, and a sum over links of {} and {:.1f} "
      "GB/s "
      "(Thakur, Rabenseifner and Gropp, 2005)",
      format_seconds(link.latency_s), link.bytes_per_s * 1e-9);
}

std::string share_of_one_rank(const judge::RankSeries& series, const judge::RankRow& row) {
  return (row.measured == nullptr ? "~" : "") + format_share(share_of_one(series, row));
}

bool slower_than_one_rank(const judge::RankSeries& series) {
  return std::any_of(series.rows.begin(), series.rows.end(), [&](const judge::RankRow& row) {
    return above_limit(share_of_one(series, row));
  });
}

}  // namespace headroom::show
