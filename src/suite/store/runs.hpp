// Results folders below a folder.
#pragma once

#include <filesystem>
#include <vector>

namespace headroom::store {

/// The results folders that a path stands for: itself if it is one, else those of a store, which
/// are two levels below it (`MACHINE/VERSION`), in the order of their names. Links are not
/// followed, and folders whose names begin with a dot are none of a store.
/// @throws FileError if there is none.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& path);

/// Those of a store, which may be empty or not there yet.
/// @throws FileError for what is no folder, or cannot be read.
std::vector<std::filesystem::path> stored_runs(const std::filesystem::path& store);

/// Whether a sweep's two files are there.
bool is_run(const std::filesystem::path& folder);

}  // namespace headroom::store
