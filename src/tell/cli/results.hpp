// Reads the results folders that a command was given.
#pragma once

#include <filesystem>

#include "record/results_folder.hpp"

namespace headroom::cli {

/// Reads the folder and reports what had to be dropped.
/// @throws as `record::read_results_folder`.
record::ResultsFolder read_results(const std::filesystem::path& path);

}  // namespace headroom::cli
