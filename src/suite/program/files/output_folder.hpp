// Files and folders that are written: opened without waiting, safe from a power cut and from links.
#pragma once

#include <filesystem>
#include <string_view>

namespace headroom {

/// What a symbolic link is in the place of a file. A path that a user names may lead elsewhere;
/// inside of a folder that we fill, a link may have been put there by whoever it comes from.
enum class Links { follow, refuse };

/// Opens a regular file, or makes it. A FIFO would wait for a reader, a device would swallow the
/// results, and what is written to a file of several names changes all of them; all are refused.
/// @param flags of open(2); O_NONBLOCK, O_CLOEXEC and O_NOFOLLOW are added
/// @return the handle, or -1 with `errno`
/// @throws FileError if something else is there; ResourceError for a link.
int open_output(const std::filesystem::path& path, int flags);

/// @return 0 once everything is written, otherwise the error
int write_all(int file, std::string_view text);

/// @throws ResourceError if `path` is a symbolic link.
void refuse_link(const std::filesystem::path& path);

inline constexpr const char* kNextFolder = "choose another folder with --out";

/// Makes the folder with all parents that are missing. None of them is lost in a power cut.
/// @param next what to do if that fails
/// @return the folder
/// @throws ResourceError if that fails.
std::filesystem::path make_folder(const std::filesystem::path& folder,
                                  const char* next = kNextFolder);

/// The same for one inside of a folder that we fill. @throws ResourceError also if it is a link.
std::filesystem::path make_inner_folder(const std::filesystem::path& folder,
                                        const char* next = kNextFolder);

/// The names in the folder are on the disk.
/// @throws ResourceError if that fails.
void sync_folder(const std::filesystem::path& folder);

/// Why something could not be done to a path, and what to do next.
[[noreturn]] void fail_output(const char* doing, const std::filesystem::path& path, int error,
                              const char* next);

}  // namespace headroom
