// The lines of a results folder as they stand there, to be written anew without loss.
#pragma once

#include <string>
#include <vector>

#include "sweep/results_folder.hpp"

namespace headroom::sweep {

struct StoredLine {
  std::string text;  ///< without its newline; may have fields that this program does not know
  std::string id;
  Status status = Status::ok;
};

/// Whole lines alone, each cell once: of one that stands there twice, the later line.
/// @throws FileError if the file has changed since `folder` was read.
std::vector<StoredLine> stored_lines(const ResultsFolder& folder);

}  // namespace headroom::sweep
