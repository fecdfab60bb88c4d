// Finds the commit that made cells slower: builds, measures beside both ends, judges, goes on.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bisect/bisect_file.hpp"
#include "bisect/side_of.hpp"

namespace headroom::bisect {

struct Request {
  std::filesystem::path repository;  ///< or any folder within
  std::filesystem::path work;        ///< where all is kept
  std::string good, bad;             ///< as the user names them
  std::vector<std::string> axes;     ///< options of `headroom sweep`
  std::string build;                 ///< for `sh -c`, in a commit's worktree
  std::string program;               ///< from there on
  double threshold = 0.03;           ///< as of `judge::CompareSettings`
};

enum class End {
  found,          ///< one commit
  several,        ///< one of several, which cannot be told apart
  no_difference,  ///< between GOOD and BAD
  stopped,        ///< by a signal; the same request goes on
};

/// A commit that was asked about.
struct Asked {
  std::string commit, subject;
  CommitRecord record;
};

struct Outcome {
  End end = End::stopped;
  std::string good, bad;  ///< full names
  EndsDifference ends;
  std::vector<Asked> asked;  ///< in the order of the commits
  std::vector<Asked>
      candidates;           ///< the commit that did it, or those of which one did, oldest first
  std::size_t commits = 0;  ///< after GOOD up to BAD
  std::size_t builds = 0;
};

/// Rounds of each commit beside both ends: as many again as long as a commit is in doubt.
inline constexpr int kFirstRounds = 4;
inline constexpr int kMostRounds = 16;

/// Nothing of the checkout is changed: commits are built in worktrees below the work folder, which
/// are removed when an answer stands. What was built, measured and found is kept there.
/// @param note told of each build and each round
/// @throws InvalidArgument for commits that are none or do not follow each other, options that a
///         bisection sets itself, and a work folder of another one; FileError for a file there that
///         is not ours; ResourceError for a folder that cannot be written or is in use;
///         std::runtime_error if an end cannot be built or measured.
Outcome bisect(const Request& request, const std::function<void(const std::string&)>& note);

}  // namespace headroom::bisect
