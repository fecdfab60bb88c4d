// Measures the candidates of a pick right away.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sweep/runner.hpp"

namespace headroom::pick {

/// A folder below the system's one for temporary files, gone with the object.
class ScratchFolder {
 public:
  /// @throws sweep::ResourceError if it cannot be made.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A cell whose estimate is so many times that of the fastest rival is no candidate: the estimates
/// are good to a factor of about two.
inline constexpr double kHopeless = 10;

/// Takes the hopeless cells out of a plan. @return their backends and formulations, for a note
std::vector<std::string> drop_hopeless(sweep::Plan& plan);

/// Checks and times every cell of the plan into a results folder.
void measure(const sweep::Plan& plan, const sweep::SweepSettings& settings,
             const std::filesystem::path& folder);

}  // namespace headroom::pick
