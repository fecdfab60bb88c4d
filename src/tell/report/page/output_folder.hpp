// Where a report is written.
#pragma once

#include <filesystem>

namespace headroom::report {

/// @throws ResourceError if it cannot be made.
void make_folder(const std::filesystem::path& path);

/// A folder named by mistake must not cost users a page of their own.
/// @throws InvalidArgument if something is there that headroom did not write.
void refuse_to_overwrite(const std::filesystem::path& path);

}  // namespace headroom::report
