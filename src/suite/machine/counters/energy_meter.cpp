#include "machine/counters/energy_meter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "machine/counters/reasons.hpp"
#include "processor/text_file.hpp"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

constexpr double kMicro = 1e-6;

// What was found, and why it is not more.
struct Found {
  std::vector<EnergyDomain> domains;
  std::string problem;
};

// In the order of their names, because a folder has none.
std::vector<fs::path> entries_of(const fs::path& folder, const std::string& start) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    if (each->path().filename().string().starts_with(start)) entries.push_back(each->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// `intel-rapl-mmio` counts the same packages once more. Kernels name AMD's zones `intel-rapl` too.
Found find_powercap(const fs::path& root) {
  const fs::path folder = root / "sys/class/powercap";
  Found found;
  for (const fs::path& zone : entries_of(folder, "intel-rapl:")) {
    const std::string name = processor::read_line(zone / "name").value_or("");
    if (!name.starts_with("package") && !name.starts_with("dram")) continue;
    found.domains.push_back({name, zone / "energy_uj",
                             processor::read_number(zone / "max_energy_range_uj").value_or(0)});
  }
  if (found.domains.empty()) found.problem = why_nothing_in(folder, "intel-rapl zone of a package");
  return found;
}

// Graphics cards have energies in hwmon as well, so the driver has to be the processor's. Its
// sockets contain its cores. It adds wraps up itself.
Found find_hwmon(const fs::path& root) {
  const fs::path folder = root / "sys/class/hwmon";
  Found found;
  for (const fs::path& device : entries_of(folder, "hwmon")) {
    if (processor::read_line(device / "name") != "amd_energy") continue;
    for (const fs::path& label : entries_of(device, "energy")) {
      const std::string file = label.filename().string();
      if (!file.ends_with("_label")) continue;
      const std::string name = processor::read_line(label).value_or("");
      if (!name.starts_with("Esocket")) continue;
      found.domains.push_back({name, device / (file.substr(0, file.find('_')) + "_input"), 0});
    }
  }
  if (found.domains.empty()) found.problem = why_nothing_in(folder, "amd_energy");
  return found;
}

// A sum without one of its parts would look like a better machine.
std::string why_unreadable(const std::vector<EnergyDomain>& domains) {
  for (const EnergyDomain& domain : domains) {
    if (std::string why = why_no_number(domain.file); !why.empty()) return why;
  }
  return "";
}

}  // namespace

EnergyMeter::EnergyMeter(const fs::path& root) {
  const std::pair<const char*, Found (*)(const fs::path&)> drivers[] = {{"powercap", find_powercap},
                                                                        {"hwmon", find_hwmon}};
  std::vector<std::string> problems;
  for (const auto& [driver, find] : drivers) {
    Found found = find(root);
    if (found.problem.empty()) found.problem = why_unreadable(found.domains);
    if (found.problem.empty()) {
      driver_ = driver;
      domains_ = std::move(found.domains);
      return;
    }
    problems.push_back(std::move(found.problem));
  }
  why_not_ = fmt::format("not available: {}{}", fmt::join(problems, "; "), if_virtual(root));
}

std::string EnergyMeter::words() const {
  std::vector<std::string> names;
  for (const EnergyDomain& domain : domains_) names.push_back(domain.name);
  return fmt::format("{}: {}", driver_, fmt::join(names, ", "));
}

std::optional<EnergyReading> EnergyMeter::read() const {
  if (domains_.empty()) return std::nullopt;
  EnergyReading reading;
  for (const EnergyDomain& domain : domains_) {
    const std::optional<std::int64_t> count = processor::read_number(domain.file);
    if (!count || *count < 0) return std::nullopt;
    reading.push_back(*count);
  }
  return reading;
}

std::optional<double> EnergyMeter::joules(const EnergyReading& before,
                                          const EnergyReading& after) const {
  if (before.size() != domains_.size() || after.size() != domains_.size()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    const std::int64_t range = domains_[i].range;
    std::int64_t used = after[i] - before[i];
    if (used < 0) {
      if (range <= 0 || before[i] > range) return std::nullopt;
      used += range;
    }
    sum += static_cast<double>(used);
  }
  return sum * kMicro;
}

std::optional<double> idle_watts(const EnergyMeter& meter, double seconds) {
  using Clock = std::chrono::steady_clock;
  const std::optional<EnergyReading> before = meter.read();
  if (!before) return std::nullopt;
  const Clock::time_point start = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const std::optional<EnergyReading> after = meter.read();
  const std::chrono::duration<double> slept = Clock::now() - start;
  const std::optional<double> used = after ? meter.joules(*before, *after) : std::nullopt;
  if (!used || !(*used > 0)) return std::nullopt;
  return *used / slept.count();
}

}  // namespace headroom::machine
