#include "record/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/files/output_folder.hpp"
#include "program/json_text.hpp"
#include "record/folder_lock.hpp"
#include "record/identity.hpp"
#include "record/journal.hpp"
#include "record/results_folder.hpp"

namespace headroom::record {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

void refuse_another_part(const ResultsFolder& first, const ResultsFolder& next) {
  const auto differences =
      identity_differences(first.environment, shown_path(first.path), next.environment,
                           shown_path(next.path), Shards::may_differ);
  if (differences.empty()) return;
  throw InvalidArgument(
      fmt::format("{} and {} are not parts of one sweep: {}; merge only folders that one program "
                  "measured with the same arguments on machines of one kind",
                  shown_path(first.path), shown_path(next.path), fmt::join(differences, "; ")));
}

std::string join_lines(const std::vector<ResultsFolder>& folders, Merged& merged) {
  std::string text;
  std::map<std::string, const ResultsFolder*> owners;
  for (const ResultsFolder& folder : folders) {
    for (const CellResult& result : folder.results) {
      const auto [owner, fresh] = owners.try_emplace(result.cell.id, &folder);
      if (fresh) continue;
      throw InvalidArgument(fmt::format("{} is in {} and in {}; give each part of the sweep once",
                                        result.cell.id, shown_path(owner->second->path),
                                        shown_path(folder.path)));
    }
    for (const std::string& line : folder.lines) text += line + "\n";
    merged.cells += folder.lines.size();
  }
  return text;
}

// The first folder's environment stands for the whole; `merged_from` keeps what is each part's own.
ordered_json join_environments(const std::vector<ResultsFolder>& folders) {
  const ordered_json::json_pointer shard("/sweep/identity/shard");
  ordered_json environment = folders.front().environment;
  ordered_json parts = ordered_json::array();
  for (const ResultsFolder& folder : folders) {
    ordered_json part;
    for (const char* key : {"time", "conditions", "peaks", "memory", "resumed"}) {
      if (folder.environment.contains(key)) part[key] = folder.environment.at(key);
    }
    if (folder.environment.contains(shard)) part["shard"] = folder.environment.at(shard);
    parts.push_back(std::move(part));
  }
  if (environment.contains(shard)) {
    environment[shard] = nullptr;
    environment["sweep"]["cells"] = environment["sweep"]["identity"].value("cells", 0);
  }
  environment["merged_from"] = std::move(parts);
  return environment;
}

std::size_t planned_cells(const ordered_json& environment) {
  const ordered_json& cells = value_at(environment, "/sweep/identity/cells");
  return cells.is_number_unsigned() ? cells.get<std::size_t>() : 0;
}

// A merge that was killed may have left all of its lines.
void refuse_other_results(const fs::path& out, const std::string& lines) {
  const fs::path file = out / "results.jsonl";
  refuse_link(file);
  std::error_code error;
  if (!fs::exists(file, error)) return;
  const std::string there = read_regular_file(file, kMaxResultsBytes);
  if (there.empty() || there == lines) return;
  throw ResourceError(fmt::format("{} already holds results, which are never overwritten; {}",
                                  shown_path(out), kNextFolder));
}

}  // namespace

Merged merge_folders(const std::vector<fs::path>& paths, const fs::path& out) {
  Merged merged;
  std::vector<ResultsFolder> folders;
  for (const fs::path& path : paths) {
    folders.push_back(read_results_folder(path, Empty::accept));
    const auto& notes = folders.back().notes;
    merged.notes.insert(merged.notes.end(), notes.begin(), notes.end());
    refuse_another_part(folders.front(), folders.back());
  }
  const std::string lines = join_lines(folders, merged);
  merged.planned = planned_cells(folders.front().environment);
  const FolderLock lock(make_folder(out));
  refuse_other_results(out, lines);
  write_run(out, join_environments(folders), lines);
  return merged;
}

}  // namespace headroom::record
