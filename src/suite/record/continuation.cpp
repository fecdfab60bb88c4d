#include "record/continuation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <utility>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/json_text.hpp"
#include "record/identity.hpp"
#include "record/results_folder.hpp"

namespace headroom::record {
namespace {

namespace fs = std::filesystem;

void refuse_another_sweep(const ResultsFolder& folder, nlohmann::ordered_json environment) {
  show_texts(environment);  // as those of the folder are
  const auto differences = identity_differences(folder.environment, "the folder", environment,
                                                "this run", Shards::must_match);
  if (differences.empty()) return;
  throw InvalidArgument(fmt::format(
      "--resume: {} was measured differently: {}; use the same settings again or choose a new "
      "folder with --out",
      shown_path(folder.path), fmt::join(differences, "; ")));
}

// No cell was finished, and the sweep was killed before it wrote its environment.
bool nothing_to_continue(const fs::path& folder) {
  std::error_code error;
  return !fs::exists(folder / "environment.json", error) &&
         fs::file_size(folder / "results.jsonl", error) == 0;
}

// @return ids of the cells to try again
std::set<std::string> drop_crashed_and_torn(const ResultsFolder& folder, Journal& journal) {
  std::string text;
  std::set<std::string> again;
  for (std::size_t i = 0; i < folder.results.size(); ++i) {
    if (folder.results[i].status == Status::crashed) {
      again.insert(folder.results[i].cell.id);
    } else {
      text += folder.lines[i] + "\n";
    }
  }
  if (text.size() != fs::file_size(folder.path / "results.jsonl")) journal.replace(text);
  return again;
}

}  // namespace

Continuation continue_sweep(plan::Plan& plan, const nlohmann::ordered_json& environment,
                            Journal& journal) {
  Continuation continuation;
  if (nothing_to_continue(journal.folder())) return continuation;
  ResultsFolder folder = read_results_folder(journal.folder(), Empty::accept);
  refuse_another_sweep(folder, environment);
  const std::set<std::string> again = drop_crashed_and_torn(folder, journal);
  continuation.found = true;
  continuation.environment = std::move(folder.environment);
  continuation.notes = std::move(folder.notes);
  std::map<std::string, CellResult*> done;
  for (CellResult& result : folder.results) {
    if (!again.contains(result.cell.id)) done.emplace(result.cell.id, &result);
  }
  for (plan::Group& group : plan.groups) {
    std::erase_if(group.cells, [&](const plan::Cell& cell) {
      const auto match = done.find(cell.id);
      if (match == done.end()) return false;
      match->second->shape = group.shape;
      match->second->cell.order = cell.order;
      continuation.kept.push_back(std::move(*match->second));
      return true;
    });
  }
  std::erase_if(plan.groups, [](const plan::Group& group) { return group.cells.empty(); });
  const std::size_t kept = continuation.kept.size();
  std::string note = fmt::format("{} {} already done; {} to go", kept,
                                 kept == 1 ? "cell is" : "cells are", plan.cell_count());
  if (!again.empty()) {
    note += fmt::format(", {} of which crashed before and {} tried again", again.size(),
                        again.size() == 1 ? "is" : "are");
  }
  continuation.notes.push_back(std::move(note));
  return continuation;
}

}  // namespace headroom::record
