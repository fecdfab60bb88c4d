// Whether a command computed anything, and how it ends where it did not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "program/exit_code.hpp"
#include "record/result.hpp"

namespace headroom::cli {

/// Counts what became of a command's cells. Those without a row are left out: they have nothing to
/// compute.
class Computed {
 public:
  void add(record::Status status, std::int64_t rows, const std::string& id,
           const std::string& reason);

  /// `kDone` if a cell was computed, rightly or not, or if there was nothing to compute. Otherwise
  /// says on standard error that nothing was, with the first reason, and returns `kNoResource` if
  /// more memory or time would help any cell, else `kNotAvailable`.
  ExitCode exit_code() const;

 private:
  std::size_t computed_ = 0, skipped_ = 0, unsupported_ = 0;
  std::string skip_, refusal_;  // the first of each
};

/// How a command ends whose cells these are: the signal that stopped it, `kCheckFailed` if one is
/// broken, or as `Computed`.
/// @param is_part others may have what these lack, so that nothing computed is no error
int end_of(const std::vector<record::CellResult>& results, bool is_part = false);

}  // namespace headroom::cli
