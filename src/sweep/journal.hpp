// The results folder: what was measured stays, whatever happens next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace headroom::sweep {

/// Writes `environment.json` and `results.jsonl`, a line a cell, synced as it is written.
class Journal {
 public:
  /// Makes the folder and an empty `results.jsonl`.
  /// @throws ResourceError if that fails or the folder holds results already.
  explicit Journal(const std::filesystem::path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// @throws ResourceError if it cannot be written.
  void write_environment(const nlohmann::ordered_json& environment);

  /// @throws ResourceError if the line cannot be written and synced; half a line is taken back, so
  ///         that the file stays readable.
  void append(const nlohmann::ordered_json& line);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  int file_ = -1;
  std::int64_t length_ = 0;
};

}  // namespace headroom::sweep
