// Several programs that measure the same cells in turn, so that what the machine does meanwhile
// meets them all.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "record/results_folder.hpp"

namespace headroom::bisect {

/// A program that is one of several in a round.
struct Rival {
  std::string name;  ///< of its folder
  std::filesystem::path program;
};

/// A program that did not measure.
class ProgramFailed : public std::runtime_error {
 public:
  ProgramFailed(std::string rival, const std::string& message)
      : std::runtime_error(message), rival_(std::move(rival)) {}
  const std::string& rival() const { return rival_; }

 private:
  std::string rival_;
};

/// Rounds of a few rivals in one folder: `FOLDER/ROUND/NAME`. A round is there whole or not at all,
/// so it need not be measured again.
class Turns {
 public:
  /// @param axes options of `headroom sweep`
  Turns(std::filesystem::path folder, std::vector<Rival> rivals, std::vector<std::string> axes);

  bool has(int round) const;

  /// Measures a round. Each of them begins with another rival, when the machine may still be cool.
  /// @return false if the process was told to stop meanwhile; then nothing of the round is left.
  /// @throws ProgramFailed; FileError for a program that cannot be run or wrote no results.
  bool measure(int round) const;

  /// What a rival measured in the first `rounds` rounds.
  std::vector<record::ResultsFolder> results(const std::string& name, int rounds) const;

 private:
  void sweep(const Rival& rival, const std::filesystem::path& out) const;

  std::filesystem::path folder_;
  std::vector<Rival> rivals_;
  std::vector<std::string> axes_;
};

/// The last line that says anything of a log, as it may be shown; empty without one.
std::string last_line_of(const std::filesystem::path& log);

/// What to do where the work folder cannot be written.
inline constexpr const char* kNextWork = "name another folder with --work";

/// Launches of each program in a round, where the axes do not say otherwise.
inline constexpr int kLaunchesOfARound = 2;

}  // namespace headroom::bisect
