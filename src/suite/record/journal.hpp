// Writes the results folder. A measured cell is kept, whatever happens next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "record/folder_lock.hpp"

namespace headroom::record {

/// Writes `environment.json` and `results.jsonl`: one line per cell, synced as it is written.
class Journal {
 public:
  enum class Start { fresh, go_on };

  /// Creates the folder and an empty `results.jsonl`; `go_on` accepts existing ones. One without a
  /// line, of a process that was killed, is no result.
  /// @throws ResourceError if that fails, if another process writes the folder, if results exist
  ///         and `start` is `fresh`, or for links; FileError if something else than a file is in
  ///         its place.
  explicit Journal(const std::filesystem::path& folder, Start start = Start::fresh);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Replaces all lines at once: a reader sees the old lines or the new ones, even after a crash.
  /// @throws ResourceError if that fails; the old lines stay.
  void replace(std::string_view lines);

  /// Replaces the environment in the same way. @throws ResourceError if it cannot be written.
  void write_environment(const nlohmann::ordered_json& environment);

  /// @throws ResourceError if the line cannot be written and synced; a partial line is removed, so
  ///         that the file stays readable.
  void append(const nlohmann::ordered_json& line);

  const std::filesystem::path& folder() const { return folder_; }
  bool empty() const { return length_ == 0; }

 private:
  void open_results();

  std::filesystem::path folder_;
  FolderLock lock_;
  int file_ = -1;
  std::int64_t length_ = 0;
};

/// Writes or replaces both files of a run that is complete: the environment first, so that results
/// never stand without it. For those who hold a lock on the folder.
/// @throws ResourceError if that fails; each file has the old text or the new one.
void write_run(const std::filesystem::path& folder, const nlohmann::ordered_json& environment,
               std::string_view lines);

}  // namespace headroom::record
