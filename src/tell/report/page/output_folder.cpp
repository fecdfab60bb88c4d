#include "report/page/output_folder.hpp"

#include <fmt/format.h>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "report/page/documents.hpp"

namespace headroom::report {

namespace fs = std::filesystem;

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw ResourceError(fmt::format("cannot make the folder {}: {}; name another with --out",
                                    shown_path(path),
                                    error ? error.message() : "a file of that name is in the way"));
  }
}

void refuse_to_overwrite(const fs::path& path) {
  constexpr std::int64_t kLargest = std::int64_t{64} << 20;
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (fs::is_regular_file(path, error) && written_by_headroom(read_regular_file(path, kLargest))) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "{} exists and was not written by headroom; move it or name another", shown_path(path)));
}

}  // namespace headroom::report
