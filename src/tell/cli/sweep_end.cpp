#include "cli/sweep_end.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "judge/compare.hpp"
#include "program/json_text.hpp"
#include "report/words/answers.hpp"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;
using record::ResultsFolder;

// Those that make a sweep the same as another, and the processor.
bool same_sweep(const ResultsFolder& a, const ResultsFolder& b) {
  for (const char* place : {"/sweep/identity/axes", "/sweep/cache", "/processor/name"}) {
    if (value_at(a.environment, place).is_null() ||
        value_at(a.environment, place) != value_at(b.environment, place)) {
      return false;
    }
  }
  return true;
}

// ISO 8601 in UTC, so the order of the texts is that of time.
std::string time_of(const ResultsFolder& folder) { return text_at(folder.environment, "/time"); }

// What stands beside a folder may be anything.
std::optional<ResultsFolder> read_if_one(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path / "results.jsonl", error)) return std::nullopt;
  try {
    return record::read_results_folder(path);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

std::optional<ResultsFolder> last_before(const ResultsFolder& folder) {
  std::optional<ResultsFolder> last;
  std::error_code error;
  const fs::path here = fs::weakly_canonical(folder.path, error);
  for (fs::directory_iterator each(here.parent_path(), error), end; !error && each != end;
       each.increment(error)) {
    if (each->path() == here) continue;
    // Named as the user named this one.
    std::optional<ResultsFolder> other =
        read_if_one(folder.path.parent_path() / each->path().filename());
    if (!other || !same_sweep(folder, *other) || time_of(*other) >= time_of(folder)) continue;
    if (!last || time_of(*last) < time_of(*other)) last = std::move(other);
  }
  return last;
}

}  // namespace

std::string answers_of(const ResultsFolder& folder) {
  return report::answer_lines(report::find_out(folder));
}

std::string changes_since_the_last(const ResultsFolder& folder) {
  const std::optional<ResultsFolder> last = last_before(folder);
  if (!last) return "";
  const judge::FolderComparison changes = judge::compare_folders(*last, folder, {});
  const std::string before = shown_path(last->path);
  return fmt::format(
      "since {} ({}): {} of {} cells faster, {} slower, {} not distinguishable or the same; "
      "headroom compare {} {}\n",
      time_of(*last), before, changes.count(judge::Verdict::faster), changes.compared(),
      changes.count(judge::Verdict::slower),
      changes.compared() - changes.count(judge::Verdict::faster) -
          changes.count(judge::Verdict::slower),
      before, shown_path(folder.path));
}

}  // namespace headroom::cli
