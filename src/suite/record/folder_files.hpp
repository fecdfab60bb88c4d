// Files and folders that a sweep writes: opened without waiting, and safe from a power cut.
#pragma once

#include <filesystem>

namespace headroom::record {

/// Opens a regular file, or makes it. A FIFO would wait for a reader, and a device would swallow
/// the results; both are refused.
/// @param flags of open(2); O_NONBLOCK and O_CLOEXEC are added
/// @return the handle, or -1 with `errno`
/// @throws FileError if something else stands there.
int open_output(const std::filesystem::path& path, int flags);

/// Makes the folder with all parents that are missing. None of them is lost in a power cut.
/// @return the folder
/// @throws ResourceError if that fails.
std::filesystem::path make_folder(const std::filesystem::path& folder);

/// The names in the folder are on the disk.
/// @throws ResourceError if that fails.
void sync_folder(const std::filesystem::path& folder);

/// Why something could not be done to a path, and what to do next.
[[noreturn]] void fail_output(const char* doing, const std::filesystem::path& path, int error,
                              const char* next);

inline constexpr const char* kNextFolder = "choose another folder with --out";

}  // namespace headroom::record
