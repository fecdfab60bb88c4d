// Each peer beside the best of our cells.
#pragma once

#include <filesystem>
#include <string>

namespace headroom::peers {

/// The table of a results folder; first of all the shapes where a peer is faster.
/// @throws FileError for a folder that cannot be read.
std::string peers_table(const std::filesystem::path& path);

}  // namespace headroom::peers
