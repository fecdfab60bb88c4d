#include "machine/memory.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "machine/text_file.hpp"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

// The files of one generation of control groups.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cached;  // in memory.stat
  const char* name;
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file", "control group (v1)"};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file",
                               "control group (v2)"};

// Version 1 says "no limit" with a number close to 2^63.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

std::optional<std::int64_t> left_in_group(const fs::path& folder, const GroupFiles& files) {
  const auto limit = read_number(folder / files.limit);
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  const std::int64_t usage = read_number(folder / files.usage).value_or(0);
  const std::string stat = read_text(folder / "memory.stat").value_or("");
  const std::int64_t cached = number_after(stat, files.cached).value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, usage - cached));
}

// Every group from the process's own up to the mount's root: an outer limit binds as well. A
// container often mounts its own group as the root, where the path named in /proc does not exist.
void narrow_by_groups(MemoryLimit& limit, const fs::path& mount, const std::string& group,
                      const GroupFiles& files) {
  for (fs::path path = fs::path(group).relative_path();; path = path.parent_path()) {
    const auto left = left_in_group(path.empty() ? mount : mount / path, files);
    if (left && *left < limit.bytes) limit = {*left, files.name};
    if (path.empty()) return;
  }
}

}  // namespace

MemoryLimit memory_limit(const fs::path& root) {
  MemoryLimit limit{std::numeric_limits<std::int64_t>::max(), "no limit known"};
  const std::string meminfo = read_text(root / "proc/meminfo").value_or("");
  if (const auto available = number_after(meminfo, "MemAvailable:")) {
    limit = {*available * 1024, "available memory"};
  }
  std::istringstream lines(read_text(root / "proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first, second - first);  // with the colon before
    std::replace(controllers.begin(), controllers.end(), ':', ',');
    controllers += ',';
    const std::string group = line.substr(second + 1);
    if (controllers.find(",memory,") != std::string::npos) {
      narrow_by_groups(limit, root / "sys/fs/cgroup/memory", group, kVersion1);
    } else if (controllers == ",,") {
      narrow_by_groups(limit, root / "sys/fs/cgroup", group, kVersion2);
      narrow_by_groups(limit, root / "sys/fs/cgroup/unified", group, kVersion2);
    }
  }
  return limit;
}

std::int64_t usable_memory(std::optional<std::int64_t> asked) {
  const std::int64_t limit = memory_limit().bytes;
  const std::int64_t usable = limit - limit / 10;
  return asked ? std::min(*asked, usable) : usable;
}

}  // namespace headroom::machine
