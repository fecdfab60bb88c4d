#include "backends/onednn/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <exception>
#include <thread>

#include "core/thread_probe.hpp"

namespace headroom::onednn {
namespace {

std::atomic<int> forks{0};  // between the first process that used OpenMP and this one
constexpr int kNoPool = -1;
thread_local int forks_at_pool = kNoPool;

int watch_forks() {
  return ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

void enter_openmp() {
  [[maybe_unused]] static const int watched = watch_forks();
  if (forks_at_pool == kNoPool) forks_at_pool = forks.load(std::memory_order_relaxed);
}

bool has_lost_threads() {
  return forks_at_pool != kNoPool && forks_at_pool != forks.load(std::memory_order_relaxed);
}

void on_new_thread(const std::function<void()>& work) {
  require_threads("onednn", 1, 1);
  std::exception_ptr failure;
  std::thread thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace headroom::onednn
