// The control groups that limit this process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headroom/export.h"

namespace headroom::processor {

/// A group's folder, and the version of the files in it.
struct ControlGroup {
  std::filesystem::path folder;
  int version = 2;
};

/// The process's own group and every one above it, up to the mount's root: outer limits apply
/// as well. Some of the folders may not exist: a container often mounts its own group as the root,
/// where the path named in /proc is unknown.
/// @param root stands for `/`, so that tests can lay out a machine of their own
/// @param controller such as `"memory"`
HEADROOM_API std::vector<ControlGroup> control_groups(const std::filesystem::path& root,
                                                      const std::string& controller);

}  // namespace headroom::processor
