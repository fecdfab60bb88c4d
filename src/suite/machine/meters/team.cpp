#include "machine/meters/team.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <system_error>
#include <utility>

#include "headroom/error.hpp"

namespace headroom::machine {

std::jthread start_thread(std::function<void()> work) { return std::jthread(std::move(work)); }

Team::Team(int threads, Share share, const ThreadStarter& start)
    : threads_(threads), share_(std::move(share)), start_(threads), finish_(threads) {
  int index = 1;
  try {
    workers_.reserve(static_cast<std::size_t>(threads));
    for (; index < threads; ++index) {
      workers_.push_back(start([this, index] { work(index); }));
    }
  } catch (const std::system_error& error) {
    end_started();
    throw ResourceError(fmt::format(
        "cannot start thread {} of {}: {}; take fewer --threads, or raise the limit of processes "
        "(ulimit -u, or pids.max of the control group)",
        index + 1, threads, error.code().message()));
  } catch (...) {
    end_started();
    throw;
  }
}

Team::~Team() {
  ended_ = true;
  start_.arrive_and_wait();
}

void Team::run(const Share& share) {
  current_ = &share;
  start_.arrive_and_wait();
  share(0);
  finish_.arrive_and_wait();
}

void Team::work(int index) {
  for (;;) {
    start_.arrive_and_wait();
    if (ended_) return;
    (*current_)(index);
    finish_.arrive_and_wait();
  }
}

void Team::end_started() {
  ended_ = true;
  const auto missing = threads_ - static_cast<std::ptrdiff_t>(workers_.size());
  static_cast<void>(start_.arrive(missing));
  workers_.clear();
}

}  // namespace headroom::machine
