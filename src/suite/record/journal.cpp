#include "record/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/shown.hpp"
#include "program/exit_code.hpp"
#include "program/files/fresh_file.hpp"
#include "program/files/output_folder.hpp"
#include "program/json_text.hpp"

namespace headroom::record {

namespace fs = std::filesystem;

namespace {

constexpr const char* kEnvironment = "environment.json";
constexpr const char* kResults = "results.jsonl";

std::string text_of(const nlohmann::ordered_json& environment) {
  return to_text(environment, 2) + "\n";
}

void remove_unfinished_in(const fs::path& folder) {
  for (const char* name : {kEnvironment, kResults}) remove_unfinished(folder / name);
}

}  // namespace

Journal::Journal(const fs::path& folder, Start start)
    : folder_(make_folder(folder)), lock_(folder) {
  remove_unfinished_in(folder_);
  // A disk that is full is known before anything is measured.
  require_writable(folder_ / kEnvironment, {}, Links::refuse);
  open_results();
  if (start == Start::fresh && !empty()) {
    ::close(file_);
    throw ResourceError(fmt::format(
        "{} already holds results, which are never overwritten; continue with --resume or {}",
        shown_path(folder_), kNextFolder));
  }
  sync_folder(folder);
}

void Journal::open_results() {
  const fs::path path = folder_ / kResults;
  file_ = open_output(path, O_WRONLY | O_CREAT | O_APPEND);
  if (file_ < 0) fail_output("write", path, errno, kNextFolder);
  length_ = ::lseek(file_, 0, SEEK_END);
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::replace(std::string_view lines) {
  write_file(folder_ / kResults, lines, Links::refuse);
  ::close(std::exchange(file_, -1));
  open_results();
}

void Journal::write_environment(const nlohmann::ordered_json& environment) {
  write_file(folder_ / kEnvironment, text_of(environment), Links::refuse);
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
  fail_output("write", folder_ / kResults, error,
              taken_back ? "the cells before it are kept; free some space and start again"
                         : "the last line may be torn; free some space and start again");
}

void write_run(const fs::path& folder, const nlohmann::ordered_json& environment,
               std::string_view lines) {
  remove_unfinished_in(folder);
  write_file(folder / kEnvironment, text_of(environment), Links::refuse);
  write_file(folder / kResults, lines, Links::refuse);
}

}  // namespace headroom::record
