#include "machine/counters/perf_kernel.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace headroom::machine {
namespace {

void set_event(perf_event_attr& attributes, PerfEvent event) {
  attributes.type = PERF_TYPE_HARDWARE;
  switch (event) {
    case PerfEvent::instructions:
      attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
      return;
    case PerfEvent::cycles:
      attributes.config = PERF_COUNT_HW_CPU_CYCLES;
      return;
    case PerfEvent::cache_misses:
      attributes.config = PERF_COUNT_HW_CACHE_MISSES;
      return;
    case PerfEvent::task_clock:
      attributes.type = PERF_TYPE_SOFTWARE;
      attributes.config = PERF_COUNT_SW_TASK_CLOCK;
      return;
  }
}

class SystemPerf final : public PerfKernel {
 public:
  int open(PerfEvent event, int group) override {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    set_event(attributes, event);
    attributes.inherit = 1;
    // Without this, perf_event_paranoid of 2 would refuse it; and interrupts are not the layer's.
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    // Not PERF_FORMAT_GROUP: the kernel refuses it for what is inherited.
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    constexpr int kThisThread = 0;
    constexpr int kAnyCore = -1;
    const long file = syscall(SYS_perf_event_open, &attributes, kThisThread, kAnyCore, group,
                              static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC));
    return file < 0 ? -errno : static_cast<int>(file);
  }

  std::optional<PerfReading> read(int event) override {
    PerfReading reading;
    static_assert(sizeof reading == 3 * sizeof(std::uint64_t), "as the kernel writes it");
    const ssize_t count = ::read(event, &reading, sizeof reading);
    return count == static_cast<ssize_t>(sizeof reading) ? std::optional(reading) : std::nullopt;
  }

  void close(int event) override { ::close(event); }
};

}  // namespace

PerfKernel& system_perf() {
  static SystemPerf perf;
  return perf;
}

}  // namespace headroom::machine
