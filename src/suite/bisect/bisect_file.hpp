// What a bisection has found so far, kept in a file so that it can go on.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bisect/search.hpp"

namespace headroom::bisect {

/// What a bisection is about; another one may not go on in its folder.
struct Subject {
  std::string good, bad;  ///< full names of commits
  std::vector<std::string> axes;
  std::string build, program;
  double threshold = 0;
};

/// What is known of a commit.
struct CommitRecord {
  bool built = false;
  std::optional<Finding> finding = {};  ///< nothing for both ends, and before it was judged
  double ratio = 1;                     ///< to GOOD, once it was measured
  bool between = false;
  int rounds = 0;           ///< that were measured of it
  std::string reason = {};  ///< why it is unbuildable
};

/// `bisect.json` of a work folder, written anew, in one step, whenever something was found.
class BisectFile {
 public:
  /// Reads the file if there is one.
  /// @throws InvalidArgument if it is of another bisection; FileError if it is not one of ours.
  BisectFile(std::filesystem::path path, Subject subject);

  /// Nothing known of a commit: all fields at their defaults.
  const CommitRecord& of(const std::string& commit) const;
  /// @throws ResourceError if the file cannot be written.
  void set(const std::string& commit, const CommitRecord& record);

  /// Commits that were built, or could not be.
  std::size_t builds() const;

 private:
  void read(const nlohmann::ordered_json& json);
  void write() const;

  std::filesystem::path path_;
  Subject subject_;
  std::map<std::string, CommitRecord> records_;
};

/// `good`, `bad`, `in doubt`, `unbuildable`.
std::string_view to_string(Finding finding);

}  // namespace headroom::bisect
