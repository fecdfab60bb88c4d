// Joins the shards of a sweep.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::record {

struct Merged {
  std::size_t cells = 0;           ///< in the new folder
  std::size_t planned = 0;         ///< of the sweep that was split
  std::vector<std::string> notes;  ///< such as a torn line that was dropped
};

/// Writes a folder with the lines of all `folders`, unchanged. One that a killed merge of the same
/// folders left is completed.
/// @throws InvalidArgument naming the difference if they are not parts of one sweep, or naming a
///         cell that two of them have: the result must not depend on the order of arguments.
///         FileError for folders that cannot be read, ResourceError for one that cannot be written.
Merged merge_folders(const std::vector<std::filesystem::path>& paths,
                     const std::filesystem::path& out);

}  // namespace headroom::record
