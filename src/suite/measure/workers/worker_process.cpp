#include "measure/workers/worker_process.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <random>
#include <string>

#include "measure/workers/child_process.hpp"
#include "measure/workers/messages.hpp"
#include "program/exit_code.hpp"

namespace headroom::measure {
namespace {

constexpr int kWorkerFailed = 70;

void send(int socket, char kind, const std::string& text) {
  if (!send_all(socket, fmt::format("{}{}\n", kind, text))) _exit(kWorkerFailed);
}

void wait_for_answer(int socket) {
  for (;;) {
    char answer = 0;
    const ssize_t count = read(socket, &answer, 1);
    if (count == 1 && answer == kAnswer) return;
    if (count == 0 || (count < 0 && errno != EINTR)) _exit(kWorkerFailed);
  }
}

// Tells the parent now and then what is at work. Between passes and by the thread that measures, as
// a thread of its own would take time from what is measured; seldom, for the same reason.
class Signs {
 public:
  explicit Signs(int socket) : socket_(socket) {}

  void working(double expected_seconds) {
    constexpr double kSeldom = 0.1;
    const auto now = Clock::now();
    const double silence = std::chrono::duration<double>(now - sent_).count();
    if (silence < kSeldom && expected_seconds < announced_ + kSeldom) return;
    send(socket_, kWorkingMessage, fmt::format("{:.3f}", expected_seconds));
    sent_ = now;
    announced_ = expected_seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;

  int socket_;
  Clock::time_point sent_{};
  double announced_ = 0;
};

// A program that is started anew has an address layout of its own; a forked process has that of its
// parent. A gap of random size moves everything that is mapped later.
void vary_addresses() {
  constexpr std::size_t kMostPages = 1024;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t pages = 1 + std::random_device()() % kMostPages;
  // Without the gap it works as well.
  (void)mmap(nullptr, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

class Server {
 public:
  Server(int socket, const plan::Group& group, const Settings& settings, plan::Estimator& estimator)
      : socket_(socket),
        group_(group),
        settings_(settings),
        estimator_(estimator),
        signs_(socket) {}

  [[noreturn]] void serve() {
    guarded([this] { prepare_problem(); });
    for (;;) {
      const Round round = round_from_text(read_line());
      if (problem_) {
        measure_in_new_process(round);
      } else {
        measure(round);  // refuses each cell: nothing that needs a process
        send(socket_, kRoundEndMessage, "");
      }
    }
  }

 private:
  void prepare_problem() {
    send(socket_, kStartedMessage, "expected result of " + group_.shape.id());
    signs_.working(estimator_.group_seconds(group_, settings_.timing));
    problem_ = try_problem(group_, settings_.seed);
  }

  // An answer that a process did not live to read may still be there.
  std::string read_line() const {
    std::string line;
    for (;;) {
      char letter = 0;
      const ssize_t count = read(socket_, &letter, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) _exit(0);
      if (letter == '\n') return line;
      if (letter != kAnswer || !line.empty()) line += letter;
    }
  }

  void finish(const Part& part) const {
    send(socket_, kFinishedMessage, to_text(part));
    wait_for_answer(socket_);
  }

  void measure_in_new_process(const Round& round) {
    const pid_t server = getpid();
    const pid_t process = fork();
    if (process == 0) {
      die_with(server);
      vary_addresses();
      measure(round);
      // Not exit(), which would flush output that the parent still has in its buffers.
      _exit(0);
    }
    if (process < 0) {
      send(socket_, kRefusedMessage,
           fmt::format("cannot start a process to measure in: {}; raise the process limit "
                       "(ulimit -u)",
                       std::strerror(errno)));
      return;
    }
    const int status = wait_for_end(process);
    send(socket_, kRoundEndMessage, status == 0 ? "" : describe_end(status));
  }

  void measure(const Round& round) {
    const MeasureEvents events{
        [this](const std::string& what) { send(socket_, kStartedMessage, what); },
        [this](const Part& part) { finish(part); },
        [this](double seconds) { signs_.working(seconds); }};
    guarded([&] { measure_round({group_, problem_}, round, settings_, estimator_, events); });
  }

  // The parent hears of every exception before this process ends.
  template <class Work>
  void guarded(const Work& work) const {
    try {
      work();
    } catch (const ResourceError& error) {
      fail(kRefusedMessage, error.what());
    } catch (const std::bad_alloc&) {
      fail(kErrorMessage, "out of memory");
    } catch (const std::exception& error) {
      fail(kErrorMessage, std::string("ended with an error: ") + error.what());
    }
  }

  [[noreturn]] void fail(char kind, const std::string& why) const {
    send_all(socket_, fmt::format("{}{}\n", kind, in_one_line(why)));
    _exit(kWorkerFailed);
  }

  int socket_;
  const plan::Group& group_;
  const Settings& settings_;
  plan::Estimator& estimator_;
  Signs signs_;
  std::optional<Problem> problem_;
};

}  // namespace

void be_fork_server(int socket, const plan::Group& group, const Settings& settings,
                    plan::Estimator& estimator) {
  Server(socket, group, settings, estimator).serve();
}

}  // namespace headroom::measure
