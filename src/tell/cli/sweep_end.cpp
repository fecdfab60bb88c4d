#include "cli/sweep_end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "judge/compare.hpp"
#include "program/json_text.hpp"
#include "report/words/answers.hpp"
#include "report/words/sentences.hpp"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using record::ResultsFolder;

// Those that make a sweep the same as another, and the processor.
bool same_sweep(const ordered_json& a, const ordered_json& b) {
  for (const char* place : {"/sweep/identity/axes", "/sweep/cache", "/processor/name"}) {
    if (value_at(a, place).is_null() || value_at(a, place) != value_at(b, place)) return false;
  }
  return true;
}

// ISO 8601 in UTC, so the order of the texts is that of time.
std::string time_of(const ordered_json& environment) { return text_at(environment, "/time"); }

// What stands beside a folder may be anything.
template <class Read>
auto read_if_one(const fs::path& path, Read read) -> std::optional<decltype(read(path))> {
  try {
    return read(path);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

// Only the environments of all that stand beside it are read, and the results of one.
std::optional<ResultsFolder> last_before(const ResultsFolder& folder) {
  const ordered_json& here = folder.environment;
  std::string latest;
  fs::path last;
  std::error_code error;
  const fs::path own = fs::weakly_canonical(folder.path, error);
  for (fs::directory_iterator each(own.parent_path(), error), end; !error && each != end;
       each.increment(error)) {
    if (each->path() == own) continue;
    // Named as the user named this one.
    const fs::path path = folder.path.parent_path() / each->path().filename();
    const auto there = read_if_one(path, record::read_environment);
    if (!there || !same_sweep(here, *there) || time_of(*there) >= time_of(here)) continue;
    if (time_of(*there) <= latest) continue;
    latest = time_of(*there);
    last = path;
  }
  if (latest.empty()) return std::nullopt;
  return read_if_one(last, [](const fs::path& path) { return record::read_results_folder(path); });
}

// Other cores may have been allowed then, and so other cells.
bool share_a_cell(const ResultsFolder& a, const ResultsFolder& b) {
  std::set<std::string> ids;
  for (const record::CellResult& result : a.results) ids.insert(result.cell.id);
  return std::any_of(b.results.begin(), b.results.end(), [&](const record::CellResult& result) {
    return ids.contains(result.cell.id);
  });
}

}  // namespace

std::string answers_of(const ResultsFolder& folder) {
  const report::Findings findings = report::find_out(folder);
  const std::string split = report::terminal_lines(report::split_answer(findings));
  return report::answer_lines(findings) + (split.empty() ? "" : "\n" + split);
}

std::string changes_since_the_last(const ResultsFolder& folder) {
  const std::optional<ResultsFolder> last = last_before(folder);
  if (!last || !share_a_cell(*last, folder)) return "";
  const judge::FolderComparison changes = judge::compare_folders(*last, folder, {});
  const std::string before = shown_path(last->path);
  return fmt::format(
      "since {} ({}): {} of {} cells faster, {} slower, {} not distinguishable or the same; "
      "headroom compare {} {}\n",
      time_of(last->environment), before, changes.count(judge::Verdict::faster), changes.compared(),
      changes.count(judge::Verdict::slower),
      changes.compared() - changes.count(judge::Verdict::faster) -
          changes.count(judge::Verdict::slower),
      before, shown_path(folder.path));
}

}  // namespace headroom::cli
