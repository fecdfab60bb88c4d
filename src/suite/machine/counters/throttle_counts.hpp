// How often cores and packages had to slow down because they were hot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headroom::machine {

/// The kernel counts such events for each core and each package, on Intel's processors only.
class ThrottleCounts {
 public:
  /// @param root stands for `/`
  explicit ThrottleCounts(const std::filesystem::path& root = "/");

  /// "not available: " and the reason; empty if there are counts.
  const std::string& why_not() const { return why_not_; }
  /// Such as `"events of 8 cores and 1 package"`.
  std::string words() const;

  /// Events of all since the machine started; empty where one cannot be read.
  std::optional<std::int64_t> read() const;

 private:
  // One of each core and of each package: hardware threads of a core report the same count.
  std::vector<std::filesystem::path> cores_, packages_;
  std::string why_not_;
};

}  // namespace headroom::machine
