#include "report/words/rank_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "headroom/error.hpp"
#include "judge/rank_series.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "report/words/wording.hpp"
#include "show/rank_tables.hpp"

namespace headroom::report {
namespace {

void add_rows(Table& table, const judge::RankSeries& series) {
  const record::CellResult& one = *series.one;
  for (const judge::RankRow& row : series.rows) {
    table.rows.push_back(
        {{plain(one.contest())},
         {code(name_of(one))},
         {plain(fmt::format("{}", one.threads))},
         {plain(fmt::format("{}", row.ranks))},
         {plain(row.measured == nullptr ? "-" : format_seconds(row.measured->time.median))},
         {plain(format_seconds(row.predicted))},
         {plain(show::share_of_one_rank(series, row))}});
  }
}

}  // namespace

std::optional<RankWords> rank_words(const record::ResultsFolder& folder) {
  const std::optional<record::Link> link = record::peaks_of(folder.environment).link;
  if (!link) return std::nullopt;
  RankWords words;
  words.table.columns = {{"shape", false},     {"cell", false},    {"threads", true},
                         {"ranks", true},      {"measured", true}, {"predicted", true},
                         {"of one rank", true}};
  bool slower = false;
  for (const judge::RankSeries& series : judge::rank_series(in_order(folder), *link)) {
    add_rows(words.table, series);
    slower = slower || show::slower_than_one_rank(series);
  }
  if (words.table.rows.empty()) return std::nullopt;
  words.note = {
      plain("The prediction is based on "), plain(show::prediction_basis(*link)),
      plain(". Threads are those of each rank; a ~ stands before shares of the prediction, where "
            "nothing was measured"),
      plain(slower ? show::kSlowerThanOneRank : ""), plain(".")};
  return words;
}

std::string ranks_text(const record::ResultsFolder& folder) {
  std::set<int> ranks;
  for (const record::CellResult& result : folder.results) ranks.insert(result.cell.ranks);
  if (ranks.empty() || *ranks.rbegin() == 1) return "";
  return fmt::format(
      "{}: processes that share the heads, each on as many threads. Cells of several are not "
      "recommended to link, because a program is one process. Their roofs are those of one rank's "
      "threads, as many times as there are ranks",
      fmt::join(ranks, ", "));
}

std::string launcher_text(const nlohmann::ordered_json& axes) {
  const nlohmann::ordered_json& text = value_at(axes, "/ranks");
  if (!text.is_string()) return "";
  try {
    const auto ranks = parse_numbers("--ranks", text.get<std::string>());
    const auto most = std::max_element(ranks.begin(), ranks.end());
    return *most > 1 ? fmt::format("mpirun -n {} ", *most) : "";
  } catch (const InvalidArgument&) {
    return "";  // a file may say anything
  }
}

}  // namespace headroom::report
