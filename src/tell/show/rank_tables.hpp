// How time falls as the heads of a layer are divided over more ranks.
#pragma once

#include <string>
#include <vector>

#include "judge/rank_series.hpp"
#include "record/peaks.hpp"
#include "record/result.hpp"

namespace headroom::show {

/// For each contest with a cell on one rank and on several: the ranks with the time that was
/// measured, the one that is predicted, and what share of that of one rank it is.
/// @param roofs of the same run; empty if they have no link
std::string rank_tables(const std::vector<record::CellResult>& results, const record::Peaks& roofs);

/// What a prediction goes by, in words.
std::string prediction_basis(const record::Link& link);

/// The measured time in percent of that of one rank; or, with a `~`, the predicted time in percent
/// of the predicted one.
std::string share_of_one_rank(const judge::RankSeries& series, const judge::RankRow& row);

/// Whether one of these shares is above 100 %, so that `kSlowerThanOneRank` has to be said.
bool slower_than_one_rank(const judge::RankSeries& series);
inline constexpr const char* kSlowerThanOneRank =
    "; more than 100 %: the sum and the waiting cost more than the divided work saves";

}  // namespace headroom::show
