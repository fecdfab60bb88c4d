#include "measure/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <new>
#include <string>

#include "machine/text_file.hpp"
#include "program/json_text.hpp"
#include "record/result.hpp"

namespace headroom::measure {
namespace {

constexpr int kWorkerFailed = 70;

// A worker without its parent would measure for nothing.
void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kWorkerFailed);
}

// Ctrl-C reaches every process of a terminal; only the parent handles it.
void leave_signals_to_parent() {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
}

// If the whole machine is out of memory, the kernel should kill the worker rather than the parent
// or an unrelated process.
void volunteer_for_oom_killer() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!write(file, "1000", 4);
  close(file);
}

// Limits what the group may hold in addition to what the program has already. The margin covers
// thread stacks, the libraries' own tables and the code that they generate, so that cells within
// their estimate never reach the limit. RLIMIT_DATA rather than RLIMIT_AS: address space that is
// only reserved, as allocators do for every thread, costs nothing.
void limit_memory(std::int64_t bytes) {
  constexpr std::int64_t kMargin = std::int64_t{1} << 30;
  const auto status = machine::read_text("/proc/self/status");
  const auto held = machine::number_after(status.value_or(""), "VmData:");
  rlimit limit{};
  if (!held || getrlimit(RLIMIT_DATA, &limit) != 0) return;
  std::int64_t most = 0;
  if (__builtin_add_overflow(*held * 1024 + kMargin, bytes, &most)) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(most));
  setrlimit(RLIMIT_DATA, &limit);
}

void send(int socket, char kind, const std::string& text) {
  if (!send_all(socket, kind + text + "\n")) _exit(kWorkerFailed);
}

void wait_for_answer(int socket) {
  for (;;) {
    char answer = 0;
    const ssize_t count = read(socket, &answer, 1);
    if (count == 1) return;
    if (count == 0 || errno != EINTR) _exit(kWorkerFailed);
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

void measure_and_report(int socket, const plan::Group& group, const MeasureSettings& settings,
                        plan::Estimator& estimator) {
  Signs signs(socket);
  const MeasureEvents events{[&](const std::string& what) { send(socket, kStartedMessage, what); },
                             [&](const record::CellResult& result) {
                               send(socket, kFinishedMessage, to_text(to_json(result)));
                               wait_for_answer(socket);
                             },
                             [&](double seconds) { signs.working(seconds); }};
  // Only the parent draws progress and knows when to stop; it ends this process.
  MeasureSettings own = settings;
  own.stopped = nullptr;
  measure_group(group, own, estimator, events);
}

}  // namespace

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void settle_worker(pid_t parent, std::int64_t memory_bytes) {
  die_with(parent);
  leave_signals_to_parent();
  volunteer_for_oom_killer();
  limit_memory(memory_bytes);
}

void be_worker(int socket, pid_t parent, const plan::Group& group, const MeasureSettings& settings,
               plan::Estimator& estimator) {
  settle_worker(parent, settings.limits.memory_bytes);
  try {
    measure_and_report(socket, group, settings, estimator);
  } catch (const std::bad_alloc&) {
    send_all(socket, std::string(1, kErrorMessage) + "out of memory\n");
    _exit(kWorkerFailed);
  } catch (const std::exception& error) {
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    send_all(socket, std::string(1, kErrorMessage) + "ended with an error: " + what + "\n");
    _exit(kWorkerFailed);
  }
  // Not exit(), which would flush output that the parent still has in its buffers.
  _exit(0);
}

}  // namespace headroom::measure
