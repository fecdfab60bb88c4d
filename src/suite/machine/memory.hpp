// How much memory this process may still use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headroom::machine {

struct MemoryLimit {
  std::int64_t bytes = 0;
  std::string source;  ///< where the limit comes from, such as `"available memory"`
};

/// The minimum of the machine's available memory and of what each control group above this process
/// leaves. Pages of cached files count as free, because the kernel reclaims them.
/// @param root stands for `/`, so that tests can lay out a machine of their own.
MemoryLimit memory_limit(const std::filesystem::path& root = "/");

/// Bytes that a command may use: that limit minus a tenth for everything else, or `asked` if that
/// is less.
std::int64_t usable_memory(std::optional<std::int64_t> asked = std::nullopt);

}  // namespace headroom::machine
