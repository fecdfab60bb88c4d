// The SIMD kernels as oneTBB tasks.

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/version.h>

#include "backends/backend.hpp"
#include "backends/simd_backend.hpp"

namespace headroom {
namespace {

/// An arena of exactly the wanted size, so that the allowed cores and the caller's own use of TBB
/// cannot change how many threads work.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int threads) : threads_(threads), arena_(threads) { arena_.initialize(); }

  int slots() const override { return threads_; }

  void run(std::int64_t count, TaskRef task) const override {
    if (count == 1) {  // not worth waking anyone
      task(0, 0);
      return;
    }
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::int64_t>(0, count, 1),
          [&](const tbb::blocked_range<std::int64_t>& range) {
            const int slot = tbb::this_task_arena::current_thread_index();
            for (std::int64_t i = range.begin(); i != range.end(); ++i) task(i, slot);
          },
          tbb::simple_partitioner{});
    });
  }

 private:
  int threads_;
  mutable tbb::task_arena arena_;
};

BackendInfo describe() {
  BackendInfo info;
  info.name = "tbb";
  info.description = "the xsimd kernels as oneTBB tasks on all allowed cores";
  info.available = !available_isas().empty();
  if (!info.available)
    info.reason = "this processor has none of the instruction sets of this build";
  info.library = fmt::format("oneTBB {}.{}", TBB_VERSION_MAJOR, TBB_VERSION_MINOR);
  info.threaded = true;
  info.uses_isa = true;
  return info;
}

std::optional<std::string> declines(const Shape&) { return std::nullopt; }

// Waking a second thread costs some ten microseconds, which one thread halves its time by from
// about 2 MFLOP on; on two cores with AVX2 one and two threads met between 0.5 and 4 MFLOP.
constexpr double kThreadsPayFrom = 3e6;

const BackendFacts& facts() {
  static const BackendFacts facts = [] {
    BackendFacts tasks;
    tasks.gflops = 60;
    tasks.narrow_share = 0.7;
    tasks.call_seconds = 5e-6;
    tasks.attend_bytes = simd::attend_bytes;
    tasks.preference = 20;
    tasks.threads_pay_from = kThreadsPayFrom;
    tasks.library = "libtbb.so";
    tasks.build_packages = {"libxsimd-dev", "libtbb-dev"};
    tasks.packages = {"libtbb12"};
    return tasks;
  }();
  return facts;
}

std::unique_ptr<Backend> make(const BackendConfig& config) {
  return simd::make_simd_backend(config.isa, std::make_unique<TbbExecutor>(config.threads));
}

}  // namespace
}  // namespace headroom

HEADROOM_DEFINE_BACKEND(tbb) = {headroom::describe, headroom::facts, headroom::declines,
                                headroom::make};
