#include "program/scratch_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

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
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace headroom
