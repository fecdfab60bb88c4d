#include "report/page/filter_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>

#include "program/child_program.hpp"
#include "program/exit_code.hpp"

namespace headroom::report {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw ResourceError(
          fmt::format("cannot make a pipe: {}; close other programs", std::strerror(errno)));
    }
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }

  int ends[2] = {-1, -1};
};

// A program may answer before it has read everything, or never read at all.
class Exchange {
 public:
  Exchange(Pipe& to, Pipe& from, std::string_view input) : to_(to), from_(from), input_(input) {
    ::fcntl(to_.ends[1], F_SETFL, O_NONBLOCK);
  }

  // @return false if it took longer
  bool run(Clock::time_point until, std::string& answer) {
    for (;;) {
      if (input_.empty()) to_.close(1);
      pollfd both[] = {{from_.ends[0], POLLIN, 0}, {to_.ends[1], POLLOUT, 0}};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      if (left.count() <= 0) return false;
      if (::poll(both, 2, static_cast<int>(left.count())) <= 0) continue;
      if (both[1].revents != 0) send();
      if (both[0].revents != 0 && !receive(answer)) return true;
    }
  }

 private:
  // A program that stops reading has ended or soon will; its status says how.
  void send() {
    const ssize_t count = ::write(to_.ends[1], input_.data(), input_.size());
    if (count >= 0) input_.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR && errno != EAGAIN) input_ = {};
  }

  bool receive(std::string& answer) {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::read(from_.ends[0], buffer.data(), buffer.size());
    if (count > 0) answer.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }

  Pipe& to_;
  Pipe& from_;
  std::string_view input_;
};

std::string reason_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("it was ended by signal {}", WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : fmt::format("it ended with {}", code);
}

}  // namespace

FilterResult filter_through(const std::string& program, const std::vector<std::string>& arguments,
                            std::string_view input, double seconds) {
  const Clock::time_point start = Clock::now();
  const auto limit = std::chrono::duration<double>(seconds);
  Pipe in, out;
  FilterResult result;
  std::optional<ChildProgram> child;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  try {
    child.emplace(program, arguments, ChildProgram::Files{in.ends[0], out.ends[1], nowhere});
  } catch (const std::system_error& error) {
    result.reason = error.code().message();
  }
  ::close(nowhere);
  if (!child) return result;
  result.started = true;
  in.close(0);
  out.close(1);
  const auto until = start + std::chrono::duration_cast<Clock::duration>(limit);
  const bool answered = Exchange(in, out, input).run(until, result.output);
  const std::chrono::duration<double> left = until - Clock::now();
  const std::optional<int> status =
      answered ? child->wait(std::max(0.0, left.count())) : std::nullopt;
  result.reason = status ? reason_of(*status)
                         : fmt::format("it had not answered after {:g} s, and was ended", seconds);
  return result;
}

}  // namespace headroom::report
