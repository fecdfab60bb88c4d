#include "machine/counters/throttle_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "machine/counters/reasons.hpp"
#include "processor/text_file.hpp"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

// `cpu0`, `cpu1` and so on, but not `cpufreq`.
bool is_cpu(const std::string& name) {
  return name.size() > 3 && name.starts_with("cpu") &&
         name.find_first_not_of("0123456789", 3) == std::string::npos;
}

std::vector<fs::path> cpus_of(const fs::path& folder) {
  std::vector<fs::path> cpus;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    if (is_cpu(each->path().filename().string())) cpus.push_back(each->path());
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

// Adds the file unless one of the same core or package was added. Without a topology each counts
// as one of its own.
void add(std::vector<fs::path>& files, std::set<std::string>& known, const fs::path& file,
         const fs::path& topology) {
  const std::string name = processor::read_line(topology).value_or(file.string());
  if (why_no_number(file).empty() && known.insert(name).second) files.push_back(file);
}

}  // namespace

ThrottleCounts::ThrottleCounts(const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/cpu";
  std::set<std::string> cores, packages;
  for (const fs::path& cpu : cpus_of(folder)) {
    add(cores_, cores, cpu / "thermal_throttle/core_throttle_count",
        cpu / "topology/thread_siblings_list");
    add(packages_, packages, cpu / "thermal_throttle/package_throttle_count",
        cpu / "topology/physical_package_id");
  }
  if (cores_.empty() && packages_.empty()) {
    why_not_ = fmt::format("not available: {}{}",
                           why_no_number(folder / "cpu0/thermal_throttle/core_throttle_count"),
                           if_virtual(root));
  }
}

std::string ThrottleCounts::words() const {
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("events of {} and {}", counted(cores_.size(), "core"),
                     counted(packages_.size(), "package"));
}

std::optional<std::int64_t> ThrottleCounts::read() const {
  if (cores_.empty() && packages_.empty()) return std::nullopt;
  std::int64_t events = 0;
  for (const auto* files : {&cores_, &packages_}) {
    for (const fs::path& file : *files) {
      const std::optional<std::int64_t> count = processor::read_number(file);
      if (!count) return std::nullopt;
      events += *count;
    }
  }
  return events;
}

}  // namespace headroom::machine
