#include "program/output_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/text/shown.hpp"
#include "program/exit_code.hpp"

namespace headroom {

void write_file(const std::filesystem::path& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();  // flushes the rest, which may fail as well
  if (!file) {
    throw ResourceError(
        fmt::format("cannot write {}: {}; check the folder and its free space or name another file",
                    shown_path(path), std::strerror(errno)));
  }
}

}  // namespace headroom
