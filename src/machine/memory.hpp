// How much memory this process may still use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace headroom::machine {

struct MemoryLimit {
  std::int64_t bytes = 0;
  std::string source;  ///< where the limit comes from, such as `"available memory"`
};

/// The smallest of what the machine has available and of what each control group above this
/// process leaves. Pages of cached files count as free, because the kernel gives them up.
/// @param root stands for `/`, so that tests can lay out a machine of their own.
MemoryLimit memory_limit(const std::filesystem::path& root = "/");

}  // namespace headroom::machine
