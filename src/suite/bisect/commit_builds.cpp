#include "bisect/commit_builds.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "bisect/turns.hpp"
#include "core/text/shown.hpp"
#include "program/files/output_folder.hpp"
#include "program/run_program.hpp"
#include "program/signals.hpp"

namespace headroom::bisect {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

}  // namespace

std::string short_name(const std::string& commit) { return commit.substr(0, 12); }

CommitBuilds::CommitBuilds(const fs::path& work, const GitRepository& repository, BisectFile& file,
                           BuildCommand command)
    : work_(work), repository_(repository), file_(file), command_(std::move(command)) {
  for (const char* name : {"trees", "logs"}) make_inner_folder(work_ / name, kNextWork);
}

fs::path CommitBuilds::tree_of(const std::string& commit) const {
  return work_ / "trees" / short_name(commit);
}

std::string CommitBuilds::why_not(const std::string& commit, int code) const {
  const fs::path log = work_ / "logs" / short_name(commit);
  if (code == 0) {
    return fmt::format("its build leaves no {}; name it with --program",
                       shown_text(command_.program));
  }
  return fmt::format("its build ended with {}: {} ({})", code, last_line_of(log), shown_path(log));
}

std::optional<fs::path> CommitBuilds::program(const std::string& commit) {
  CommitRecord record = file_.of(commit);
  if (record.finding == Finding::unbuildable) return std::nullopt;
  const fs::path tree = tree_of(commit);
  if (record.built && is_file(tree / command_.program)) return tree / command_.program;
  repository_.add_tree(commit, tree);
  // The command is the user's own; the folder is a word of its own, which no shell reads.
  const int code =
      run_program("sh", {"-c", "cd \"$0\" && exec sh -c \"$1\"", tree.string(), command_.command},
                  work_ / "logs" / short_name(commit));
  if (stop_signal() != 0) return std::nullopt;
  record.built = code == 0 && is_file(tree / command_.program);
  if (!record.built) {
    record.finding = Finding::unbuildable;
    record.reason = why_not(commit, code);
    forget(commit);
  }
  file_.set(commit, record);
  if (!record.built) return std::nullopt;
  return tree / command_.program;
}

void CommitBuilds::forget(const std::string& commit) const {
  repository_.remove_tree(tree_of(commit));
}

}  // namespace headroom::bisect
