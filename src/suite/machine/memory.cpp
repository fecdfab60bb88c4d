#include "machine/memory.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "processor/control_groups.hpp"
#include "processor/text_file.hpp"

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
  const auto limit = processor::read_number(folder / files.limit);
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  const std::int64_t usage = processor::read_number(folder / files.usage).value_or(0);
  const std::string stat = processor::read_text(folder / "memory.stat").value_or("");
  const std::int64_t cached = processor::number_after(stat, files.cached).value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, usage - cached));
}

}  // namespace

MemoryLimit memory_limit(const fs::path& root) {
  MemoryLimit limit{std::numeric_limits<std::int64_t>::max(), "no limit known"};
  const std::string meminfo = processor::read_text(root / "proc/meminfo").value_or("");
  if (const auto available = processor::number_after(meminfo, "MemAvailable:")) {
    limit = {*available * 1024, "available memory"};
  }
  for (const processor::ControlGroup& group : processor::control_groups(root, "memory")) {
    const GroupFiles& files = group.version == 1 ? kVersion1 : kVersion2;
    const auto left = left_in_group(group.folder, files);
    if (left && *left < limit.bytes) limit = {*left, files.name};
  }
  return limit;
}

std::int64_t usable_memory(std::optional<std::int64_t> asked) {
  const std::int64_t limit = memory_limit().bytes;
  const std::int64_t usable = limit - limit / 10;
  return asked ? std::min(*asked, usable) : usable;
}

}  // namespace headroom::machine
