// The state that the machine is in, as far as it moves timings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace headroom::machine {

/// What may change from one run to the next. Empty where it cannot be read.
struct Conditions {
  std::optional<std::string> governor;    ///< frequency governor of the first core
  std::optional<bool> turbo;              ///< frequencies above the nominal one allowed
  std::optional<double> load;             ///< processes running or waiting, last minute's mean
  std::optional<std::string> huge_pages;  ///< transparent huge pages: always, madvise or never

  /// Why each empty value is empty, by its name above: "not available: " and the reason.
  std::map<std::string, std::string> unavailable;
};

/// @param root stands for `/`, so that tests can lay out a machine of their own
Conditions current_conditions(const std::filesystem::path& root = "/");

/// Time of all processors since the machine started, in ticks.
struct ProcessorTime {
  std::int64_t all = 0;
  std::int64_t stolen = 0;  ///< wanted by this machine and given to another one by the hypervisor
};

/// Empty where the system does not tell; `why_no_processor_time` says why.
std::optional<ProcessorTime> processor_time(const std::filesystem::path& root = "/");

/// "not available: " and the reason; empty if there is a time.
std::string why_no_processor_time(const std::filesystem::path& root = "/");

/// The environment variables that OpenMP, oneTBB and oneDNN take their settings from, as they are
/// set.
std::map<std::string, std::string> runtime_variables();

}  // namespace headroom::machine
