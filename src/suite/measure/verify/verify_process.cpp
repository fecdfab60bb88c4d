#include "measure/verify/verify_process.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "measure/workers/child_process.hpp"
#include "measure/workers/messages.hpp"
#include "program/exit_code.hpp"

namespace headroom::measure {
namespace {

enum class Kind : int { checked, no_memory, error };

// What goes over the socket, followed by the text. In binary, because a ratio may be infinite.
struct Message {
  Kind kind = Kind::checked;
  record::Status status = record::Status::ok;
  reference::Data data = reference::Data::standard;
  std::int64_t checked_rows = 0;
  bool compared = false;
  bool passed = false;
  double nrmse = 0, max_over_rms = 0, bound_ratio = 0;
  reference::Limits limits = {};
  std::int64_t worst_row = 0, worst_col = 0;
  std::size_t text_size = 0;
};

bool send_message(int socket, Message message, const std::string& text) {
  message.text_size = text.size();
  char bytes[sizeof message];
  std::memcpy(bytes, &message, sizeof message);
  return send_all(socket, {bytes, sizeof bytes}) && send_all(socket, text);
}

bool send_check(int socket, const VerifyCheck& check) {
  Message message;
  message.status = check.status;
  message.data = check.data;
  message.checked_rows = check.checked_rows;
  message.compared = check.error.has_value();
  if (check.error) {
    message.passed = check.error->passed;
    message.nrmse = check.error->nrmse;
    message.max_over_rms = check.error->max_over_rms;
    message.bound_ratio = check.error->bound_ratio;
    message.limits = check.error->limits;
    message.worst_row = check.error->worst_row;
    message.worst_col = check.error->worst_col;
  }
  return send_message(socket, message, check.reason);
}

[[noreturn]] void be_checker(int socket, std::size_t first, std::size_t count,
                             const std::function<VerifyCheck(std::size_t)>& check) {
  Message message;
  std::string text;
  try {
    for (std::size_t i = first; i < count; ++i) {
      if (!send_check(socket, check(i))) break;
    }
    _exit(0);
  } catch (const std::bad_alloc&) {
    message.kind = Kind::no_memory;
  } catch (const std::exception& error) {
    message.kind = Kind::error;
    text = error.what();
  }
  send_message(socket, message, text);
  _exit(0);
}

// A process that checks.
class Checker {
 public:
  Checker(std::size_t first, std::size_t count,
          const std::function<VerifyCheck(std::size_t)>& check, std::int64_t memory_bytes)
      : process_("a process to check in", memory_bytes,
                 [&](int socket) { be_checker(socket, first, count, check); }) {}

  enum class Heard { check, end, stopped };

  Heard listen(VerifyCheck& check, const std::function<bool()>& stopped) {
    Message message;
    char bytes[sizeof message];
    const Heard heard = receive(bytes, sizeof bytes, stopped);
    if (heard != Heard::check) return heard;
    std::memcpy(&message, bytes, sizeof message);
    std::string text(message.text_size, '\0');
    if (const Heard rest = receive(text.data(), text.size(), stopped); rest != Heard::check) {
      return rest;
    }
    if (message.kind == Kind::no_memory) throw std::bad_alloc();
    if (message.kind == Kind::error) throw ResourceError(text);
    take(message, text, check);
    return Heard::check;
  }

  /// How it ended.
  int wait() { return process_.wait(); }

 private:
  Heard receive(char* place, std::size_t size, const std::function<bool()>& stopped) {
    while (size > 0) {
      if (stopped()) return Heard::stopped;
      pollfd wait{process_.socket(), POLLIN, 0};
      if (poll(&wait, 1, kPollMilliseconds) <= 0) continue;
      const ssize_t count = read(process_.socket(), place, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return Heard::end;
      place += count;
      size -= static_cast<std::size_t>(count);
    }
    return Heard::check;
  }

  static void take(const Message& message, const std::string& text, VerifyCheck& check) {
    check.status = message.status;
    check.data = message.data;
    check.checked_rows = message.checked_rows;
    check.reason = text;
    if (!message.compared) return;
    check.error = reference::Comparison{message.nrmse,
                                        message.max_over_rms,
                                        message.bound_ratio,
                                        message.worst_row,
                                        message.worst_col,
                                        message.passed,
                                        text,
                                        message.limits,
                                        message.data};
  }

  ChildProcess process_;
};

}  // namespace

void check_apart(std::size_t count, const std::function<VerifyCheck(std::size_t)>& check,
                 std::int64_t memory_bytes,
                 const std::function<void(std::size_t, const VerifyCheck&)>& done,
                 const std::function<bool()>& stopped) {
  using Heard = Checker::Heard;
  for (std::size_t next = 0; next < count;) {
    Checker checker(next, count, check, memory_bytes);
    Heard heard = Heard::check;
    while (next < count) {
      VerifyCheck result;
      heard = checker.listen(result, stopped);
      if (heard != Heard::check) break;
      done(next++, result);
    }
    if (heard == Heard::stopped) return;
    if (next == count) return;
    VerifyCheck dead;
    dead.status = record::Status::failed;
    dead.reason = describe_end(checker.wait());
    done(next++, dead);
  }
}

}  // namespace headroom::measure
