#include "processor/control_groups.hpp"

#include <algorithm>
#include <sstream>

#include "processor/text_file.hpp"

namespace headroom::processor {
namespace {

namespace fs = std::filesystem;

void add_upwards(std::vector<ControlGroup>& groups, const fs::path& mount, const fs::path& group,
                 int version) {
  // The process was moved outside its container's view: none of the groups there is above it.
  if (std::find(group.begin(), group.end(), "..") != group.end()) return;
  for (fs::path path = group.relative_path();; path = path.parent_path()) {
    groups.push_back({path.empty() ? mount : mount / path, version});
    if (path.empty()) return;
  }
}

}  // namespace

std::vector<ControlGroup> control_groups(const fs::path& root, const std::string& controller) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::vector<ControlGroup> groups;
  std::istringstream lines(read_text(root / "proc/self/cgroup").value_or(""));
  // Such as "4:cpu,cpuacct:/docker/abc", and "0::/docker/abc" for version 2.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      add_upwards(groups, mounts, group, 2);
      add_upwards(groups, mounts / "unified", group, 2);
    } else if (("," + controllers + ",").find("," + controller + ",") != std::string::npos) {
      add_upwards(groups, mounts / controller, group, 1);
      if (controllers != controller) add_upwards(groups, mounts / controllers, group, 1);
    }
  }
  return groups;
}

}  // namespace headroom::processor
