#include "measure/workers/fork_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "measure/workers/messages.hpp"
#include "measure/workers/worker_process.hpp"
#include "program/exit_code.hpp"
#include "program/numbers.hpp"

namespace headroom::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 100;
constexpr double kLongestStep = 1e9;  // seconds; a worker that went wrong may say anything

class Conversation {
 public:
  Conversation(int socket, const WorkerEvents& events) : socket_(socket), events_(events) {}

  enum class End { round_done, closed, stopped, silent };

  // Takes messages until the round is over, the server is gone, stopped, or silent for too long.
  End listen() {
    for (Clock::time_point heard = Clock::now();;) {
      if (events_.stopped()) return End::stopped;
      pollfd wait{socket_, POLLIN, 0};
      if (poll(&wait, 1, kPollMilliseconds) <= 0) {
        const std::chrono::duration<double> silence = Clock::now() - heard;
        if (silence.count() > patience()) return End::silent;
        continue;
      }
      heard = Clock::now();
      char buffer[4096];
      const ssize_t count = read(socket_, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return End::closed;
      text_.append(buffer, static_cast<std::size_t>(count));
      take_messages();
      if (done_) return End::round_done;
    }
  }

  // Seconds to wait for the next sign. Estimates are off by a factor of two where a backend is new,
  // by more on a busy machine.
  double patience() const {
    constexpr double kFactor = 10;
    return events_.timeout + kFactor * expected_;
  }

  std::string last_start;
  std::string error;  // why the round did not end well, as far as a message said it

 private:
  void take_messages() {
    std::size_t start = 0;
    for (std::size_t end = 0; (end = text_.find('\n', start)) != std::string::npos;
         start = end + 1) {
      take(text_[start], text_.substr(start + 1, end - start - 1));
    }
    text_.erase(0, start);
  }

  void take(char kind, const std::string& text) {
    if (kind == kStartedMessage) {
      last_start = text;
      events_.started(text);
    } else if (kind == kFinishedMessage) {
      events_.finished(text);
      // A failure is ignored: a worker that has died needs no answer.
      send_all(socket_, {&kAnswer, 1});
    } else if (kind == kWorkingMessage) {
      expected_ = std::clamp(std::strtod(text.c_str(), nullptr), 0.0, kLongestStep);
    } else if (kind == kErrorMessage) {
      error = text;
    } else if (kind == kRefusedMessage) {
      throw ResourceError(text);
    } else if (kind == kRoundEndMessage) {
      done_ = true;
      if (error.empty()) error = text;
    }
  }

  int socket_;
  const WorkerEvents& events_;
  std::string text_;
  bool done_ = false;
  double expected_ = 0;  // seconds of the step that the worker announced last
};

}  // namespace

ForkServer::ForkServer(const plan::Group& group, const Settings& settings,
                       plan::Estimator& estimator)
    : process_("a worker process", settings.memory_limit,
               [&](int socket) { be_fork_server(socket, group, settings, estimator); }) {}

std::optional<WorkerEnd> ForkServer::measure(const Round& round, const WorkerEvents& events) {
  // A failure is noticed below: the socket of a server that has died is closed.
  send_all(process_.socket(), to_text(round) + "\n");
  Conversation conversation(process_.socket(), events);
  const Conversation::End how = conversation.listen();
  if (how == Conversation::End::stopped) return std::nullopt;
  WorkerEnd end;
  end.last_start = conversation.last_start;
  end.reason = conversation.error;
  end.complete = how == Conversation::End::round_done && end.reason.empty();
  end.server_lost = how != Conversation::End::round_done;
  if (how == Conversation::End::silent) {
    end.reason = fmt::format("hung: no message for {}, so it was ended; --timeout sets the limit",
                             format_wait(conversation.patience()));
  } else if (end.server_lost && end.reason.empty()) {
    end.reason = describe_end(process_.wait());
  }
  return end;
}

}  // namespace headroom::measure
