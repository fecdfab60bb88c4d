// The state that the machine is in, as far as it moves timings.
#pragma once

#include <cstdint>
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
};

Conditions current_conditions();

/// Time of all processors since the machine started, in ticks.
struct ProcessorTime {
  std::int64_t all = 0;
  std::int64_t stolen = 0;  ///< wanted by this machine and given to another one by the hypervisor
};

/// Empty where the system does not tell.
std::optional<ProcessorTime> processor_time();

/// The environment variables that OpenMP, oneTBB and oneDNN take their settings from, as they are
/// set.
std::map<std::string, std::string> runtime_variables();

}  // namespace headroom::machine
