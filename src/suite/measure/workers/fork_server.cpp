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

constexpr double kLongestStep = 1e9;  // seconds; a worker that went wrong may say anything
// Estimates are off by a factor of two where a backend is new, by more on a busy machine.
constexpr double kPatienceFactor = 10;

}  // namespace

ForkServer::ForkServer(const plan::Group& group, const Settings& settings,
                       plan::Estimator& estimator)
    : process_("a worker process", settings.memory_limit,
               [&](int socket) { be_fork_server(socket, group, settings, estimator); }) {}

void ForkServer::begin(const Round& round) {
  end_ = {};
  text_.clear();
  part_.reset();
  done_ = false;
  expected_ = 0;
  // A failure is noticed below: the socket of a server that has died is closed.
  send_all(process_.socket(), to_text(round) + "\n");
}

std::optional<std::string> ForkServer::next(Observer& observer, double timeout) {
  if (part_) {
    part_.reset();
    // A failure is ignored: a worker that has died needs no answer.
    send_all(process_.socket(), {&kAnswer, 1});
  }
  while (!done_ && !part_ && listen(observer, timeout)) {
  }
  if (done_) end_.complete = end_.reason.empty();
  return part_;
}

// Takes what comes next. @return false if nothing more will come
bool ForkServer::listen(Observer& observer, double timeout) {
  const double patience = timeout + kPatienceFactor * expected_;
  for (const Clock::time_point heard = Clock::now();;) {
    if (observer.stopped()) {
      end_.stopped = end_.server_lost = true;
      return false;
    }
    pollfd wait{process_.socket(), POLLIN, 0};
    if (poll(&wait, 1, kPollMilliseconds) <= 0) {
      const std::chrono::duration<double> silence = Clock::now() - heard;
      if (silence.count() <= patience) continue;
      lose(fmt::format("hung: no message for {}, so it was ended; --timeout sets the limit",
                       format_wait(patience)));
      return false;
    }
    char buffer[4096];
    const ssize_t count = read(process_.socket(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      lose(end_.reason.empty() ? describe_end(process_.wait()) : end_.reason);
      return false;
    }
    text_.append(buffer, static_cast<std::size_t>(count));
    take_messages(observer);
    return true;
  }
}

void ForkServer::lose(const std::string& why) {
  end_.server_lost = true;
  end_.reason = why;
}

void ForkServer::take_messages(Observer& observer) {
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text_.find('\n', start)) != std::string::npos; start = end + 1) {
    take(text_[start], text_.substr(start + 1, end - start - 1), observer);
  }
  text_.erase(0, start);
}

void ForkServer::take(char kind, const std::string& text, Observer& observer) {
  if (kind == kStartedMessage) {
    end_.last_start = text;
    observer.started(text);
  } else if (kind == kFinishedMessage) {
    part_ = text;
  } else if (kind == kWorkingMessage) {
    expected_ = std::clamp(std::strtod(text.c_str(), nullptr), 0.0, kLongestStep);
  } else if (kind == kErrorMessage) {
    end_.reason = text;
  } else if (kind == kRefusedMessage) {
    throw ResourceError(text);
  } else if (kind == kRoundEndMessage) {
    done_ = true;
    if (end_.reason.empty()) end_.reason = text;
  }
}

}  // namespace headroom::measure
