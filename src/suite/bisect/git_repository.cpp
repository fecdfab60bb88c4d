#include "bisect/git_repository.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "bisect/turns.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "program/run_program.hpp"

namespace headroom::bisect {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostOfAnAnswer = std::int64_t{256} << 20;

bool is_commit(const std::string& text) {
  constexpr std::size_t kShortest = 40;  // SHA-1; SHA-256 has 64
  return text.size() >= kShortest &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

GitRepository::GitRepository(fs::path folder, fs::path log)
    : folder_(std::move(folder)), log_(std::move(log)) {}

GitRepository::Answer GitRepository::ask(std::vector<std::string> words) const {
  // No hook of the repository runs for what is no work of its user.
  std::vector<std::string> all{"-C", folder_.string(), "-c", "core.hooksPath=/dev/null"};
  all.insert(all.end(), words.begin(), words.end());
  const int code = run_program("git", all, log_);
  return {code, lines_of(read_regular_file(log_, kMostOfAnAnswer))};
}

std::string GitRepository::commit(const std::string& name) const {
  if (!name.empty() && name.front() != '-') {
    Answer answer = ask({"rev-parse", "--verify", "--quiet", name + "^{commit}"});
    // A warning, such as of a name that is ambiguous, may stand beside it.
    std::erase_if(answer.lines, [](const std::string& line) { return !is_commit(line); });
    if (answer.code == 0 && answer.lines.size() == 1) return answer.lines.front();
  }
  throw InvalidArgument(
      fmt::format("'{}' is no commit of {}; name a commit, a tag or a branch, and the repository "
                  "with --repository",
                  shown_text(name), shown_path(folder_)));
}

std::vector<std::string> GitRepository::commits_between(const std::string& good,
                                                        const std::string& bad) const {
  if (good == bad) {
    throw InvalidArgument("GOOD and BAD are the same commit; name two");
  }
  if (ask({"merge-base", "--is-ancestor", good, bad}).code != 0) {
    throw InvalidArgument(
        "GOOD is no ancestor of BAD, so no commit lies between them; name an older commit of the "
        "same branch, which git merge-base GOOD BAD finds");
  }
  Answer answer = ask({"rev-list", "--first-parent", "--reverse", good + ".." + bad});
  std::erase_if(answer.lines, [](const std::string& line) { return !is_commit(line); });
  if (answer.code != 0 || answer.lines.empty() || answer.lines.back() != bad) {
    throw std::runtime_error(
        fmt::format("git does not list the commits up to BAD: {}", last_line_of(log_)));
  }
  return answer.lines;
}

std::string GitRepository::subject(const std::string& commit) const {
  const Answer answer = ask({"log", "-1", "--no-show-signature", "--format=%s", commit});
  return answer.code == 0 && !answer.lines.empty() ? shown_text(answer.lines.back()) : "";
}

void GitRepository::add_tree(const std::string& commit, const fs::path& folder) const {
  remove_tree(folder);
  if (ask({"worktree", "add", "--detach", "--force", "--quiet", folder.string(), commit}).code !=
      0) {
    throw std::runtime_error(fmt::format("git cannot make a worktree {} of {}: {}",
                                         shown_path(folder), commit, last_line_of(log_)));
  }
}

void GitRepository::remove_tree(const fs::path& folder) const {
  std::error_code error;
  if (fs::exists(folder, error)) {
    ask({"worktree", "remove", "--force", "--force", folder.string()});
    fs::remove_all(folder, error);
  }
  ask({"worktree", "prune"});
}

}  // namespace headroom::bisect
