#include "machine/counters/perf_counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/text/shown.hpp"
#include "machine/counters/reasons.hpp"
#include "processor/text_file.hpp"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

// Beyond it the kernel lets nobody but root count even their own processes.
constexpr std::int64_t kMostParanoid = 2;

constexpr std::array<const char*, kPerfEvents.size()> kNames{"instructions", "cycles",
                                                             "cache misses"};

std::optional<double> count_between(const PerfReading& before, const PerfReading& after) {
  if (after.value < before.value || after.enabled < before.enabled ||
      after.running <= before.running) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(after.value - before.value);
  const auto enabled = static_cast<double>(after.enabled - before.enabled);
  const auto running = static_cast<double>(after.running - before.running);
  return running < enabled ? count * enabled / running : count;
}

std::string why_forbidden(const fs::path& root) {
  const fs::path file = root / "proc/sys/kernel/perf_event_paranoid";
  const std::optional<std::int64_t> paranoid = processor::read_number(file);
  if (!paranoid) return "; a container may forbid it";
  if (*paranoid <= kMostParanoid) {
    return fmt::format("; {} is {}, which allows it, so a container or another rule forbids it",
                       shown_path(file), *paranoid);
  }
  return fmt::format("; {} is {} (allow it: sudo sysctl kernel.perf_event_paranoid={})",
                     shown_path(file), *paranoid, kMostParanoid);
}

}  // namespace

std::string why_no_perf(int error, const fs::path& root) {
  std::string why = "perf_event_open: " + std::generic_category().message(error);
  if (error == EACCES || error == EPERM) return why + why_forbidden(root);
  if (error == ENOSYS) return why + "; this kernel was built without it";
  if (error == EMFILE) return why + "; raise the limit of open files (ulimit -n)";
  return why + if_virtual(root);
}

PerfCounters::PerfCounters(PerfKernel& kernel, const fs::path& root) : kernel_(kernel) {
  int group = -1;
  for (std::size_t i = 0; i < kPerfEvents.size(); ++i) {
    files_[i] = kernel_.open(kPerfEvents[i], group);
    if (group < 0 && files_[i] >= 0) group = files_[i];
  }
  if (group < 0) why_not_ = "not available: " + why_no_perf(-files_.front(), root);
}

// The first opened is the leader of the others.
PerfCounters::~PerfCounters() {
  std::for_each(files_.rbegin(), files_.rend(), [this](int file) {
    if (file >= 0) kernel_.close(file);
  });
}

std::string PerfCounters::words() const {
  std::vector<std::string> counted, missing;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i] >= 0) {
      counted.emplace_back(kNames[i]);
    } else {
      missing.push_back(
          fmt::format("; no {}: {}", kNames[i], std::generic_category().message(-files_[i])));
    }
  }
  return fmt::format("{}{}", fmt::join(counted, ", "), fmt::join(missing, ""));
}

PerfReadings PerfCounters::read() const {
  PerfReadings readings;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i] >= 0) readings[i] = kernel_.read(files_[i]);
  }
  return readings;
}

PerfCounts counts_between(const PerfReadings& before, const PerfReadings& after) {
  PerfCounts counts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (before[i] && after[i]) counts[i] = count_between(*before[i], *after[i]);
  }
  return counts;
}

}  // namespace headroom::machine
