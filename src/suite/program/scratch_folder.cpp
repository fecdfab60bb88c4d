#include "program/scratch_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "core/text/shown.hpp"
#include "program/exit_code.hpp"

namespace headroom {

ScratchFolder::ScratchFolder(const std::string& name) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string path = ((error ? "/tmp" : parent) / (name + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) {
    throw ResourceError(
        fmt::format("cannot create the folder {}: {}; set TMPDIR to a folder "
                    "that can be written",
                    path, std::strerror(errno)));
  }
  path_ = path;
  owner_ = getpid();
}

ScratchFolder::~ScratchFolder() {
  if (getpid() != owner_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void ScratchFolder::require() const {
  std::error_code error;
  if (std::filesystem::is_directory(path_, error)) return;
  throw ResourceError(fmt::format(
      "the folder {} disappeared while it was in use, and what was measured into it is lost; set "
      "TMPDIR to a folder that nothing cleans, and start again",
      shown_path(path_)));
}

}  // namespace headroom
