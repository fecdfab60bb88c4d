// Reads a results folder, which may come from another machine or a failing disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/result.hpp"

namespace headroom::record {

/// Of `results.jsonl`: about 700,000 cells; more would not fit in memory as results either.
inline constexpr std::int64_t kMaxResultsBytes = std::int64_t{1} << 30;

struct ResultsFolder {
  std::filesystem::path path;
  nlohmann::ordered_json environment;  ///< an object of schema `headroom.environment/1`
  std::vector<CellResult> results;     ///< in the order of the lines, each cell once
  std::vector<std::string> lines;      ///< those of `results`, without newline
  std::vector<std::string> notes;      ///< such as a torn last line that was dropped
  std::int64_t intact_bytes = 0;       ///< of `results.jsonl`, up to the last whole line
};

enum class Empty { refuse, accept };

/// Reads `environment.json` and `results.jsonl`. Texts and keys are as they may be shown
/// (`core/text/shown.hpp`), so that nobody above need ask where they are from. `Cell::order` is
/// restored as it was in the sweep that wrote them, and peers are marked. If a cell occurs twice,
/// the later line counts and a note says so.
/// @param empty whether a folder without any finished cell is an error; only resuming and merging
///        accept one.
/// @throws FileError with the path, the line and the byte of the fault.
ResultsFolder read_results_folder(const std::filesystem::path& path, Empty empty = Empty::refuse);

/// `environment.json` of a folder alone, which is short. @throws FileError as above.
nlohmann::ordered_json read_environment(const std::filesystem::path& folder);

/// Sets `CellResult::peer` where the environment lists the cell's backend under `peers`, as
/// scripts/peers does with every library that it measured. A line alone does not tell.
void mark_peers(ResultsFolder& folder);

/// The results shape by shape, in the order of the axes; the lines are in the order of finishing.
std::vector<const CellResult*> in_order(const ResultsFolder& folder);

/// Those without a time, with those of one status and reason together, in the order of the first.
std::vector<std::vector<const CellResult*>> without_time_by_reason(
    const std::vector<const CellResult*>& results);

}  // namespace headroom::record
