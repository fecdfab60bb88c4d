// A results folder as a store keeps it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/results_folder.hpp"
#include "store/origin.hpp"
#include "store/plain_words.hpp"

namespace headroom::store {

/// One run: what one program measured on one machine, with the environment that it had.
struct CleanRun {
  std::filesystem::path source;
  Origin origin;
  nlohmann::ordered_json environment;
  std::vector<record::CellResult> results;
  std::vector<std::string> notes;  ///< what was left out, rewritten or found unverified, and why

  /// The lines of `results.jsonl`.
  std::string lines() const;
};

/// What a store keeps of a folder. Each line is written anew from what was read of it, so nothing
/// else that stood there stays, and every text loses what points to a person or a host
/// (`PlainWords`). The environment keeps what `kept_of` lists. Its noise floor is written down
/// where only layers that were timed twice tell it: it belongs to the machine at that time, and
/// must not change with the cells that somebody takes out later.
///
/// A cell whose time is not `why_unverified` proof stays as `failed`, with that reason and without
/// a time, so that nobody ranks it. A cell whose backend has no plain name is left out.
/// @param secrets names that must not stay; those in the folder are found by themselves
/// @throws FileError for a noise floor that is no number
CleanRun cleaned(const record::ResultsFolder& folder, std::vector<std::string> secrets);

}  // namespace headroom::store
