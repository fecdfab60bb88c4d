#include "program/signals.hpp"

#include <unistd.h>

#include <csignal>

#include "program/exit_code.hpp"

namespace headroom {
namespace {

volatile std::sig_atomic_t received = 0;

void on_signal(int number) {
  if (received != 0) _exit(kSignalBase + number);
  received = number;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Exceeding the file size limit becomes an error of the write, which names the file.
  std::signal(SIGXFSZ, SIG_IGN);
}

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

int stop_signal() { return received; }

}  // namespace headroom
