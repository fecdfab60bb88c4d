// The few questions that a bisection asks git. Nothing of a name or a message reaches a shell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom::bisect {

class GitRepository {
 public:
  /// @param folder any folder of the user's checkout, which is never changed
  /// @param log where git's words go
  GitRepository(std::filesystem::path folder, std::filesystem::path log);

  /// The full name of a commit. @throws InvalidArgument if there is none of this name.
  std::string commit(const std::string& name) const;

  /// Those after `good` up to `bad`, oldest first; of a merge the first parent alone.
  /// @throws InvalidArgument if `good` is not an ancestor of `bad`, or the same commit.
  std::vector<std::string> commits_between(const std::string& good, const std::string& bad) const;

  /// The first line of a commit's message, as it may be shown.
  std::string subject(const std::string& commit) const;

  /// A worktree of its own for a commit. @throws std::runtime_error with what git said
  void add_tree(const std::string& commit, const std::filesystem::path& folder) const;
  void remove_tree(const std::filesystem::path& folder) const;

 private:
  struct Answer {
    int code = 0;
    std::vector<std::string> lines;
  };
  Answer ask(std::vector<std::string> words) const;

  std::filesystem::path folder_, log_;
};

}  // namespace headroom::bisect
