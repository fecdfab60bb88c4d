// The results folder: what was measured stays, whatever happens next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "record/folder_lock.hpp"

namespace headroom::record {

/// Writes `environment.json` and `results.jsonl`, a line a cell, synced as it is written.
class Journal {
 public:
  enum class Start { fresh, go_on };

  /// Makes the folder and an empty `results.jsonl`; `go_on` takes those that are there already.
  /// @throws ResourceError if that fails, another process writes the folder, or a fresh one holds
  ///         results already; FileError if a FIFO or the like stands where a file belongs.
  explicit Journal(const std::filesystem::path& folder, Start start = Start::fresh);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Replaces all lines at once: a reader, or a crash, finds the old ones or the new ones.
  /// @throws ResourceError if that fails; the old ones stay.
  void replace(std::string_view lines);

  /// Likewise. @throws ResourceError if it cannot be written.
  void write_environment(const nlohmann::ordered_json& environment);

  /// @throws ResourceError if the line cannot be written and synced; half a line is taken back, so
  ///         that the file stays readable.
  void append(const nlohmann::ordered_json& line);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void open_results(int flags);

  std::filesystem::path folder_;
  FolderLock lock_;
  int file_ = -1;
  std::int64_t length_ = 0;
};

}  // namespace headroom::record
