#include "program/child_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <thread>

#include "processor/text_file.hpp"
#include "program/exit_code.hpp"
#include "program/signals.hpp"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kLookMilliseconds = 20;

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

// What we ignore ourselves is no way for other programs, which do not look at each write.
void set_default_signals(posix_spawnattr_t& attributes) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGPIPE, SIGXFSZ}) sigaddset(&signals, number);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
}

// The parent of each process that has not ended. The name before it, in brackets, may hold any
// character.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> all;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string text = processor::read_text(entry->path() / "stat").value_or("");
    const std::size_t bracket = text.rfind(") ");
    if (bracket == std::string::npos) continue;
    char state = 0;
    pid_t parent = 0;
    if (std::sscanf(text.c_str() + bracket, ") %c %d", &state, &parent) != 2) continue;
    if (state != 'Z' && state != 'X') all.emplace(std::atoi(name.c_str()), parent);
  }
  return all;
}

// Adds those that descend from one of them.
void add_descendants(std::set<pid_t>& tree) {
  const std::map<pid_t, pid_t> all = parents();
  for (bool more = true; more;) {
    more = false;
    for (const auto& [process, parent] : all) {
      if (tree.contains(parent) && tree.insert(process).second) more = true;
    }
  }
}

bool keep_those_alive(std::set<pid_t>& tree) {
  const std::map<pid_t, pid_t> all = parents();
  std::erase_if(tree, [&](pid_t process) { return !all.contains(process); });
  return !tree.empty();
}

// Stopped before any of them is killed, so that none starts another meanwhile.
void kill_all(std::set<pid_t> tree) {
  keep_those_alive(tree);
  for (std::size_t stopped = 0; stopped < tree.size();) {
    for (const pid_t process : tree) kill(process, SIGSTOP);
    stopped = tree.size();
    add_descendants(tree);
  }
  for (const pid_t process : tree) kill(process, SIGKILL);
}

// Closes every file but `kept`: a pipe that is copied here would not end with its owners.
void close_all_but(int kept) {
  const long most = sysconf(_SC_OPEN_MAX);
#ifdef SYS_close_range
  const bool above = syscall(SYS_close_range, kept + 1, ~0U, 0) == 0;
#else
  const bool above = false;
#endif
  for (int handle = 0; handle < (above ? kept : most); ++handle) {
    if (handle != kept) close(handle);
  }
}

}  // namespace

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
}

ChildProgram::ChildProgram(const std::string& program, const std::vector<std::string>& arguments,
                           Files files)
    : stop_before_(stop_signal()) {
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, files.input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, files.output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, files.errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  set_default_signals(attributes);
  const int error =
      ::posix_spawnp(&program_, program.c_str(), &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(error, "cannot be run");
  guard();
}

ChildProgram::~ChildProgram() {
  if (!status_) end();
  release_guard();
}

// A process that sleeps until this one is gone, and then ends the program with all that it started.
// This process cannot do that when it is killed, and what the kernel has for it reaches the program
// alone, and none of those that it started.
void ChildProgram::guard() {
  int ends[2] = {-1, -1};
  int error = ::pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
  if (error == 0) {
    guard_ = fork();
    error = guard_ < 0 ? errno : 0;
  }
  if (guard_ == 0 && error == 0) {
    prctl(PR_SET_NAME, "headroom-guard");
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
    close_all_but(ends[0]);
    char none = 0;
    while (::read(ends[0], &none, 1) < 0 && errno == EINTR) continue;
    kill_all({program_});
    _exit(0);
  }
  if (ends[0] >= 0) ::close(ends[0]);
  alive_ = ends[1];
  if (error == 0) return;
  end();
  release_guard();
  fail(error, "cannot be guarded");
}

void ChildProgram::release_guard() {
  if (guard_ > 0) {
    kill(guard_, SIGKILL);
    while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  if (alive_ >= 0) ::close(alive_);
}

void ChildProgram::reap(int flags) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(program_, &status, flags)) < 0 && errno == EINTR) continue;
  if (ended < 0) fail(errno, "how it ended is lost");
  if (ended == program_) status_ = status;
}

std::optional<int> ChildProgram::wait(std::optional<double> seconds) {
  constexpr int kSeldom = 500;  // for a signal that comes just before poll() begins
  const Clock::time_point start = Clock::now();
  // It wakes us when the program ends. Before Linux 5.3 there is none, and we look now and then.
  pollfd ends{static_cast<int>(syscall(SYS_pidfd_open, program_, 0)), POLLIN, 0};
  for (reap(WNOHANG); !status_ && stop_signal() == stop_before_; reap(WNOHANG)) {
    const std::chrono::duration<double> waited = Clock::now() - start;
    if (seconds && waited.count() >= *seconds) break;
    ::poll(&ends, 1, ends.fd < 0 ? kLookMilliseconds : kSeldom);
  }
  if (ends.fd >= 0) ::close(ends.fd);
  return status_;
}

void ChildProgram::end() {
  constexpr std::chrono::seconds kGrace{1};
  std::set<pid_t> tree{program_};
  add_descendants(tree);
  for (const pid_t process : tree) kill(process, SIGTERM);
  const Clock::time_point until = Clock::now() + kGrace;
  for (std::set<pid_t> left = tree; keep_those_alive(left) && Clock::now() < until;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookMilliseconds));
  }
  kill_all(tree);
  while (::waitpid(program_, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace headroom
