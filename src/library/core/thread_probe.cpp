#include "core/thread_probe.hpp"

#include <fmt/format.h>

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "headroom/error.hpp"

namespace headroom {

void require_threads(std::string_view backend, int wanted, int more) {
  std::atomic<bool> done{false};
  std::string refusal;
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(more > 0 ? more : 0));
    try {
      while (static_cast<int>(threads.size()) < more) {
        threads.emplace_back([&done] { done.wait(false); });
      }
    } catch (const std::system_error& error) {
      refusal = fmt::format(
          "backend '{}' cannot have {} threads: the system refused one after {} ({}); ask for "
          "fewer, or raise the limit of processes (ulimit -u, a container's pids.max) or of memory",
          backend, wanted, wanted - more + static_cast<int>(threads.size()),
          error.code().message());
    }
    done = true;
    done.notify_all();
  }
  if (!refusal.empty()) throw ResourceError(refusal);
}

}  // namespace headroom
