#include "machine/conditions.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <vector>

#include "machine/text_file.hpp"

namespace headroom::machine {

Conditions current_conditions() {
  Conditions now;
  now.governor = read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (const auto off = read_number("/sys/devices/system/cpu/intel_pstate/no_turbo")) {
    now.turbo = *off == 0;
  } else if (const auto on = read_number("/sys/devices/system/cpu/cpufreq/boost")) {
    now.turbo = *on != 0;
  }
  std::array<double, 1> load{};
  if (getloadavg(load.data(), 1) == 1) now.load = load[0];
  const std::string pages = read_line("/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  const std::size_t open = pages.find('[');
  const std::size_t close = pages.find(']');
  if (open != std::string::npos && close != std::string::npos && close > open) {
    now.huge_pages = pages.substr(open + 1, close - open - 1);
  }
  return now;
}

std::optional<ProcessorTime> processor_time() {
  // "cpu  user nice system idle iowait irq softirq steal guest guest_nice" (man 5 proc); the time
  // of guests is in that of the user already.
  constexpr std::size_t kSteal = 7;
  std::istringstream line(read_line("/proc/stat").value_or(""));
  std::string name;
  line >> name;
  std::vector<std::int64_t> ticks;
  for (std::int64_t value = 0; ticks.size() <= kSteal && line >> value;) ticks.push_back(value);
  if (name != "cpu" || ticks.size() <= kSteal) return std::nullopt;
  ProcessorTime time;
  for (const std::int64_t value : ticks) time.all += value;
  time.stolen = ticks[kSteal];
  return time;
}

std::map<std::string, std::string> runtime_variables() {
  constexpr std::array<std::string_view, 6> kPrefixes{"OMP_", "GOMP_",   "KMP_",
                                                      "TBB_", "ONEDNN_", "DNNL_"};
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const bool wanted = std::any_of(kPrefixes.begin(), kPrefixes.end(),
                                    [&](std::string_view p) { return text.starts_with(p); });
    if (wanted) found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

}  // namespace headroom::machine
