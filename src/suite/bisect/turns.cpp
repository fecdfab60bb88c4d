#include "bisect/turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/text/shown.hpp"
#include "processor/text_file.hpp"
#include "program/exit_code.hpp"
#include "program/files/output_folder.hpp"
#include "program/run_program.hpp"
#include "program/signals.hpp"

namespace headroom::bisect {
namespace {

namespace fs = std::filesystem;

bool gives(const std::vector<std::string>& axes, std::string_view option) {
  return std::any_of(axes.begin(), axes.end(), [&](const std::string& word) {
    return word == option || word.starts_with(std::string(option) + "=");
  });
}

}  // namespace

Turns::Turns(fs::path folder, std::vector<Rival> rivals, std::vector<std::string> axes)
    : folder_(std::move(folder)), rivals_(std::move(rivals)), axes_(std::move(axes)) {
  if (!gives(axes_, "--processes")) {
    axes_.push_back(fmt::format("--processes={}", kLaunchesOfARound));
  }
  if (!gives(axes_, "--repetitions")) {
    axes_.push_back(fmt::format("--repetitions={}", 2 * kLaunchesOfARound));
  }
}

bool Turns::has(int round) const {
  std::error_code error;
  return fs::is_directory(folder_ / std::to_string(round), error);
}

void Turns::sweep(const Rival& rival, const fs::path& out) const {
  std::vector<std::string> words{"sweep"};
  words.insert(words.end(), axes_.begin(), axes_.end());
  words.push_back("--out=" + out.string());
  const fs::path log = folder_ / (rival.name + ".log");
  const int code = run_program(rival.program.string(), words, log);
  if (stop_signal() != 0) return;
  // A failed check is a result.
  if (code != kDone && code != kCheckFailed) {
    throw ProgramFailed(rival.name,
                        fmt::format("its program ended with {}: {}", code, last_line_of(log)));
  }
  std::error_code error;
  if (!fs::exists(out / "results.jsonl", error)) {
    throw ProgramFailed(rival.name, "its program wrote no results: " + last_line_of(log));
  }
}

bool Turns::measure(int round) const {
  const fs::path part = folder_ / fmt::format("{}.part", round);
  std::error_code error;
  fs::remove_all(part, error);
  // Rounds and those of a commit: what leads elsewhere is none of ours.
  for (const fs::path& path : {folder_.parent_path(), folder_, part}) {
    make_inner_folder(path, kNextWork);
  }
  for (std::size_t i = 0; i < rivals_.size(); ++i) {
    const Rival& rival = rivals_[(i + static_cast<std::size_t>(round)) % rivals_.size()];
    sweep(rival, part / rival.name);
    if (stop_signal() != 0) {
      fs::remove_all(part, error);
      return false;
    }
  }
  fs::rename(part, folder_ / std::to_string(round), error);
  if (error) fail_output("rename", part, error.value(), kNextWork);
  return true;
}

std::vector<record::ResultsFolder> Turns::results(const std::string& name, int rounds) const {
  std::vector<record::ResultsFolder> all;
  for (int round = 0; round < rounds; ++round) {
    all.push_back(record::read_results_folder(folder_ / std::to_string(round) / name));
  }
  return all;
}

std::string last_line_of(const fs::path& log) {
  std::string text = processor::read_text(log).value_or("");
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return shown_text(text.substr(text.find_last_of('\n') + 1));
}

}  // namespace headroom::bisect
