// The state of the machine, as far as it affects timings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace headroom::machine {

/// Conditions that may change between runs. Empty where one cannot be read.
struct Conditions {
  std::optional<std::string> governor;    ///< frequency governor of the first core
  std::optional<bool> turbo;              ///< frequencies above nominal allowed
  std::optional<double> load;             ///< running or waiting processes, mean of the last minute
  std::optional<std::string> huge_pages;  ///< transparent huge pages: always, madvise or never

  /// Why each empty value is empty, by its name above: "not available: " and the reason.
  std::map<std::string, std::string> unavailable;
};

/// @param root stands for `/`, so that tests can lay out a machine of their own
Conditions current_conditions(const std::filesystem::path& root = "/");

/// Time of all processors since boot, in ticks.
struct ProcessorTime {
  std::int64_t all = 0;
  std::int64_t stolen = 0;  ///< steal time: the hypervisor ran other machines instead
};

/// Empty where the system does not report it; `why_no_processor_time` says why.
std::optional<ProcessorTime> processor_time(const std::filesystem::path& root = "/");

/// "not available: " and the reason; empty if there is a time.
std::string why_no_processor_time(const std::filesystem::path& root = "/");

/// The environment variables that OpenMP, oneTBB and oneDNN read their settings from, with their
/// values.
std::map<std::string, std::string> runtime_variables();

}  // namespace headroom::machine
