// What more ranks took and should take, for the report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "record/results_folder.hpp"
#include "report/words/prose.hpp"

namespace headroom::report {

inline constexpr const char* kPredictionHead = "Prediction for more ranks";

struct RankWords {
  Table table;  ///< for each contest, the fastest cell that was measured on one rank and on several
  Prose note;   ///< what the prediction goes by
};

/// Empty without a measured link between ranks, or without such a cell.
std::optional<RankWords> rank_words(const record::ResultsFolder& folder);

/// Which numbers of ranks there are, and what that means; empty if every cell is of one.
std::string ranks_text(const record::ResultsFolder& folder);

/// What starts a sweep with these axes, such as `"mpirun -n 4 "`; empty for one rank.
std::string launcher_text(const nlohmann::ordered_json& axes);

}  // namespace headroom::report
