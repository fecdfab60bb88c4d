#include "record/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/text/shown.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"
#include "record/folder_files.hpp"

namespace headroom::record {
namespace {

namespace fs = std::filesystem;

// @return 0 once everything is written, otherwise the error
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Writes a new file and renames it, so that a half-written file is never visible.
void replace_file(const fs::path& folder, const std::string& name, std::string_view text) {
  const fs::path fresh = folder / (name + ".new");
  const int file = open_output(fresh, O_WRONLY | O_CREAT | O_TRUNC);
  int error = file < 0 ? errno : write_all(file, text);
  if (error == 0 && ::fsync(file) != 0) error = errno;
  if (file >= 0) ::close(file);
  if (error == 0 && ::rename(fresh.c_str(), (folder / name).c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(fresh.c_str());
    fail_output("write", folder / name, error, "free some space or choose another --out");
  }
  sync_folder(folder);
}

}  // namespace

Journal::Journal(const fs::path& folder, Start start)
    : folder_(make_folder(folder)), lock_(folder) {
  open_results(start == Start::fresh ? O_EXCL : 0);
  sync_folder(folder);
}

void Journal::open_results(int flags) {
  const fs::path path = folder_ / "results.jsonl";
  file_ = open_output(path, O_WRONLY | O_CREAT | O_APPEND | flags);
  if (file_ < 0 && errno == EEXIST) {
    throw ResourceError(fmt::format(
        "{} already holds results, which are never overwritten; continue with --resume or {}",
        shown_path(folder_), kNextFolder));
  }
  if (file_ < 0) fail_output("write", path, errno, kNextFolder);
  length_ = ::lseek(file_, 0, SEEK_END);
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::replace(std::string_view lines) {
  replace_file(folder_, "results.jsonl", lines);
  ::close(file_);
  open_results(0);
}

void Journal::write_environment(const nlohmann::ordered_json& environment) {
  replace_file(folder_, "environment.json", to_text(environment, 2) + "\n");
}

void Journal::append(const nlohmann::ordered_json& line) {
  const std::string text = to_text(line) + "\n";
  int error = write_all(file_, text);
  if (error == 0 && ::fsync(file_) != 0) error = errno;
  if (error == 0) {
    length_ += static_cast<std::int64_t>(text.size());
    return;
  }
  const bool taken_back = ::ftruncate(file_, length_) == 0;
  fail_output("write", folder_ / "results.jsonl", error,
              taken_back ? "the cells before it are kept; free some space and start again"
                         : "the last line may be torn; free some space and start again");
}

}  // namespace headroom::record
