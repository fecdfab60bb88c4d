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

void handle_stop_signals(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hang_up {};
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // not under nohup
}

void install_signal_handlers() { handle_stop_signals(on_signal); }

void make_failed_writes_errors() {
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
}

int stop_signal() { return received; }

}  // namespace headroom
