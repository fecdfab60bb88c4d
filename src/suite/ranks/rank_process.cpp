#include "ranks/rank_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "core/text/shown.hpp"
#include "headroom/distributed.hpp"
#include "headroom/error.hpp"
#include "measure/workers/child_process.hpp"
#include "program/exit_code.hpp"
#include "program/signals.hpp"
#include "ranks/follower.hpp"
#include "ranks/leader.hpp"
#include "ranks/session.hpp"

namespace headroom::ranks {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough for the ranks of a run that ends well to end one after the other.
constexpr double kGrace = 3;
constexpr useconds_t kLook = 20'000;

pid_t child_to_signal = 0;

void pass_on(int signal) {
  if (child_to_signal > 0) kill(child_to_signal, signal);
}

// One write, so that lines of several ranks do not mix.
void complain(const std::string& text) {
  const std::string line = "error: " + shown_text(text) + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

// All processes, as far as they are on this machine; what the child tells its parent.
void tell_parent(int pipe, const Session& session) {
  const std::int32_t own = session.rank();
  (void)!write(pipe, &own, sizeof own);
  (void)!write(pipe, session.processes().data(), session.processes().size() * sizeof(RankProcess));
  close(pipe);
}

int work(int pipe, const Lead& lead) {
  int rank = -1;
  try {
    Session session;
    rank = session.rank();
    prctl(PR_SET_NAME, fmt::format("headroom-r{}", rank).c_str());
    tell_parent(pipe, session);
    if (rank > 0) {
      try {
        follow(session);
      } catch (...) {
        session.lose();
        throw;
      }
      return kDone;
    }
    Leader leader(session);
    return lead(leader);
  } catch (const InvalidArgument& error) {
    if (rank <= 0) complain(error.what());
    return kWrongUsage;
  } catch (const ResourceError& error) {
    if (rank <= 0) complain(error.what());
    return kNoResource;
  } catch (const std::exception& error) {
    complain(fmt::format("rank {}: {}", rank, error.what()));
    return kCheckFailed;
  }
}

// What the parent knows of the ranks, once its child has told it.
class Watch {
 public:
  Watch(pid_t child, int pipe) : child_(child), pipe_(pipe) {
    fcntl(pipe_, F_SETFL, fcntl(pipe_, F_GETFL) | O_NONBLOCK);
  }
  ~Watch() { close(pipe_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // @return the exit code
  int wait() {
    for (;;) {
      int status = 0;
      const pid_t ended = waitpid(child_, &status, WNOHANG);
      if (ended == child_) return code_of(status);
      hear();
      if (const std::optional<RankProcess> gone = too_long_gone()) return give_up(*gone);
      usleep(kLook);
    }
  }

 private:
  std::string name() const { return rank_ ? fmt::format("rank {}", *rank_) : "a rank"; }

  int code_of(int status) {
    hear();
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    complain(fmt::format("{}: its process {} {}", name(), child_, measure::describe_end(status)));
    return kCheckFailed;
  }

  void hear() {
    char buffer[4096];
    for (ssize_t count = 0; (count = read(pipe_, buffer, sizeof buffer)) > 0;) {
      bytes_.append(buffer, static_cast<std::size_t>(count));
    }
    std::int32_t rank = 0;
    if (bytes_.size() < sizeof rank) return;
    std::memcpy(&rank, bytes_.data(), sizeof rank);
    rank_ = rank;
    peers_.resize((bytes_.size() - sizeof rank) / sizeof(RankProcess));
    std::memcpy(peers_.data(), bytes_.data() + sizeof rank, peers_.size() * sizeof(RankProcess));
  }

  // A rank of this machine whose process is gone, while ours goes on.
  std::optional<RankProcess> too_long_gone() {
    const auto gone = std::find_if(peers_.begin(), peers_.end(), [](const RankProcess& peer) {
      return distributed::has_ended(peer.process);
    });
    if (gone == peers_.end()) return std::nullopt;
    if (!gone_since_) gone_since_ = Clock::now();
    const std::chrono::duration<double> waited = Clock::now() - *gone_since_;
    return waited.count() > kGrace ? std::optional(*gone) : std::nullopt;
  }

  int give_up(const RankProcess& gone) const {
    kill(child_, SIGKILL);
    measure::wait_for_end(child_);
    complain(fmt::format("rank {} (process {}) has ended, and {} cannot go on without it",
                         gone.rank, gone.process.number, name()));
    return kCheckFailed;
  }

  pid_t child_;
  int pipe_;
  std::string bytes_;
  std::optional<int> rank_;
  std::vector<RankProcess> peers_;
  std::optional<Clock::time_point> gone_since_;
};

}  // namespace

int run_as_rank(const Lead& lead, const std::function<void()>& flush) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw ResourceError(fmt::format("cannot start a rank: {}", std::strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw ResourceError(fmt::format("cannot start a rank: {}; raise the process limit (ulimit -u)",
                                    std::strerror(errno)));
  }
  if (child == 0) {
    close(ends[0]);
    measure::die_with(parent);
    const int code = work(ends[1], lead);
    flush();
    // Not exit(): what libraries do at the end of a process may wait for a rank that is gone.
    _exit(code);
  }
  close(ends[1]);
  child_to_signal = child;
  handle_stop_signals(pass_on);
  return Watch(child, ends[0]).wait();
}

}  // namespace headroom::ranks
