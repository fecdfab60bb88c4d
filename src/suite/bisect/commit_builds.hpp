// The program of each commit, built in a worktree of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "bisect/bisect_file.hpp"
#include "bisect/git_repository.hpp"

namespace headroom::bisect {

/// One command for all commits.
struct BuildCommand {
  std::string command;  ///< for `sh -c`, in the worktree
  std::string program;  ///< where it is then, from the worktree on
};

class CommitBuilds {
 public:
  /// @param work folder of the bisection
  /// All of these must outlive this.
  CommitBuilds(const std::filesystem::path& work, const GitRepository& repository, BisectFile& file,
               BuildCommand command);

  /// The commit's program, built if it is not there yet, and recorded.
  /// @return nothing if it cannot be built, with the reason recorded, or if the process was told to
  ///         stop meanwhile
  std::optional<std::filesystem::path> program(const std::string& commit);

  /// Removes what was built of a commit; what was measured stays.
  void forget(const std::string& commit) const;

 private:
  std::filesystem::path tree_of(const std::string& commit) const;
  std::string why_not(const std::string& commit, int code) const;

  std::filesystem::path work_;
  const GitRepository& repository_;
  BisectFile& file_;
  BuildCommand command_;
};

/// The first letters of a commit's name, as it is shown.
std::string short_name(const std::string& commit);

}  // namespace headroom::bisect
