#include "processor/cores.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "processor/control_groups.hpp"
#include "processor/text_file.hpp"

namespace headroom {
namespace processor {
namespace {

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

// 0 if there is none.
double cores_of(const std::string& quota, double period) {
  std::istringstream text(quota);
  double time = 0;  // stays 0 where the file says "max"
  text >> time;
  return time > 0 && period > 0 ? time / period : 0;
}

// Version 2 keeps "quota period" in one file, version 1 keeps two files.
double quota_of(const ControlGroup& group) {
  if (group.version == 1) {
    const auto period = read_number(group.folder / "cpu.cfs_period_us").value_or(0);
    return cores_of(read_line(group.folder / "cpu.cfs_quota_us").value_or(""),
                    static_cast<double>(period));
  }
  std::istringstream line(read_line(group.folder / "cpu.max").value_or(""));
  std::string quota;
  double period = 0;
  line >> quota >> period;
  return cores_of(quota, period);
}

}  // namespace

int affinity_cores(const AffinityCall& call) {
  // The system refuses a set that is smaller than its possible processors, and does not say how
  // many those are.
  constexpr int kFirst = 1024;
  constexpr int kMost = 1 << 22;
  for (int places = kFirst; places <= kMost; places *= 2) {
    const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(static_cast<std::size_t>(places)));
    if (!set) return 0;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(places));
    CPU_ZERO_S(bytes, set.get());
    if (call(bytes, set.get()) == 0) return CPU_COUNT_S(bytes, set.get());
    if (errno != EINVAL) return 0;
  }
  return 0;
}

double quota_cores(const std::filesystem::path& root) {
  double smallest = 0;
  for (const ControlGroup& group : control_groups(root, "cpu")) {
    const double quota = quota_of(group);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
  }
  return smallest;
}

}  // namespace processor

int allowed_cores() {
  int cores = processor::affinity_cores(
      [](std::size_t bytes, cpu_set_t* set) { return sched_getaffinity(0, bytes, set); });
  if (cores == 0) cores = static_cast<int>(std::thread::hardware_concurrency());
  static const double quota = processor::quota_cores("/");
  if (quota > 0) cores = std::min(cores, static_cast<int>(std::ceil(quota)));
  return std::max(cores, 1);
}

}  // namespace headroom
