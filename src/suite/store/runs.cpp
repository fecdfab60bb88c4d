#include "store/runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/exit_code.hpp"

namespace headroom::store {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_in(const fs::path& parent) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code of_entry;
    if (entry->path().filename().native().starts_with('.')) continue;
    if (fs::is_directory(entry->symlink_status(of_entry))) found.push_back(entry->path());
  }
  if (error) {
    throw FileError(fmt::format("cannot read the folder {}: {}; check its permissions",
                                shown_path(parent), error.message()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool is_run(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "environment.json", error) &&
         fs::is_regular_file(folder / "results.jsonl", error);
}

std::vector<fs::path> stored_runs(const fs::path& store) {
  std::error_code error;
  const fs::file_status status = fs::status(store, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status)) {
    throw FileError(fmt::format("{} is not a folder; give the folder of a store, or a new one",
                                shown_path(store)));
  }
  std::vector<fs::path> runs;
  for (const fs::path& machine : folders_in(store)) {
    for (const fs::path& version : folders_in(machine)) {
      if (is_run(version)) runs.push_back(version);
    }
  }
  return runs;
}

std::vector<fs::path> runs_in(const fs::path& path) {
  if (is_run(path)) return {path};
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::is_directory(status)) {
    throw FileError(
        fmt::format("{} {}; give a folder that headroom sweep wrote, or a store of them",
                    shown_path(path), fs::exists(status) ? "is not a folder" : "does not exist"));
  }
  std::vector<fs::path> runs = stored_runs(path);
  if (runs.empty()) {
    throw FileError(fmt::format(
        "{} holds no results: neither environment.json and results.jsonl of a sweep, nor folders "
        "MACHINE/VERSION with them; give a folder that headroom sweep wrote, or a store of them",
        shown_path(path)));
  }
  return runs;
}

}  // namespace headroom::store
