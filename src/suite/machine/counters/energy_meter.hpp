// The energy that the processors and their memory used, as the kernel reports it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headroom::machine {

/// A part of the machine whose energy is counted.
struct EnergyDomain {
  std::string name;            ///< such as `package-0` or `dram`
  std::filesystem::path file;  ///< a count in microjoules that only grows, but for its wraps
  std::int64_t range = 0;      ///< where it begins again at 0, in microjoules; 0: never
};

/// The counts of all domains at one moment, in microjoules.
using EnergyReading = std::vector<std::int64_t>;

/// Reads RAPL through powercap (Intel, and AMD since Zen 2 on newer kernels), or else through the
/// hwmon driver `amd_energy`. It adds up packages and their DRAM. Cores and graphics are part of
/// their package, and `psys` contains it, so they are left out. What is counted is the whole
/// package, whoever uses it.
class EnergyMeter {
 public:
  /// @param root stands for `/`, so that tests can lay out a machine of their own
  explicit EnergyMeter(const std::filesystem::path& root = "/");

  const std::vector<EnergyDomain>& domains() const { return domains_; }
  /// "not available: " and the reason; empty if there are domains, all of which can be read.
  const std::string& why_not() const { return why_not_; }
  /// Such as `"powercap: package-0, dram"`.
  std::string words() const;

  /// Empty where a domain cannot be read.
  std::optional<EnergyReading> read() const;
  /// Joules from one reading to a later one. A count that is smaller than before has wrapped once:
  /// the range of a package lasts for minutes at any load. Empty where it is smaller and has no
  /// range, or is beyond it.
  std::optional<double> joules(const EnergyReading& before, const EnergyReading& after) const;

 private:
  std::vector<EnergyDomain> domains_;
  std::string driver_;
  std::string why_not_;
};

/// Seconds in which the power of the idle machine is measured.
inline constexpr double kIdleSeconds = 0.3;

/// What the machine uses while the caller sleeps for so long, in watts; empty without a meter, or
/// if its counts stand still.
std::optional<double> idle_watts(const EnergyMeter& meter, double seconds);

}  // namespace headroom::machine
