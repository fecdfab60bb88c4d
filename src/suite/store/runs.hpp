// Results folders below a folder.
#pragma once

#include <filesystem>
#include <vector>

namespace headroom::store {

/// The results folders that a path stands for: itself if it is one, else those of a store, which
/// are two levels below it (`MACHINE/VERSION`), in the order of their names. Links are not
/// followed.
/// @throws FileError if there is none.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& path);

}  // namespace headroom::store
