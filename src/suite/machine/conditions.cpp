#include "machine/conditions.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/text/shown.hpp"
#include "processor/text_file.hpp"

namespace headroom::machine {

namespace {

namespace fs = std::filesystem;

// Why a file's text was not as expected.
std::string problem_with(const fs::path& path) {
  const bool readable = access(path.c_str(), R_OK) == 0;
  const std::string what = readable ? "does not say" : std::generic_category().message(errno);
  return shown_path(path) + ": " + what;
}

std::string not_available(const std::string& reason) { return "not available: " + reason; }

// Begins with the loads of the last 1, 5 and 15 minutes.
std::optional<double> load_of(const fs::path& file) {
  std::istringstream words(processor::read_line(file).value_or(""));
  double load = 0;
  if (!(words >> load)) return std::nullopt;
  return load;
}

// Such as "always [madvise] never".
std::optional<std::string> chosen_of(const fs::path& file) {
  const std::string choices = processor::read_line(file).value_or("");
  const std::size_t open = choices.find('[');
  const std::size_t close = choices.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  return choices.substr(open + 1, close - open - 1);
}

void add_frequencies(Conditions& now, const fs::path& folder) {
  const fs::path governor = folder / "cpu0/cpufreq/scaling_governor";
  now.governor = processor::read_line(governor);
  if (now.governor && now.governor->empty()) now.governor.reset();
  if (!now.governor) now.unavailable["governor"] = not_available(problem_with(governor));
  const fs::path intel = folder / "intel_pstate/no_turbo";
  const fs::path others = folder / "cpufreq/boost";
  if (const auto off = processor::read_number(intel)) {
    now.turbo = *off == 0;
  } else if (const auto on = processor::read_number(others)) {
    now.turbo = *on != 0;
  } else {
    now.unavailable["turbo"] = not_available(problem_with(intel) + "; " + problem_with(others));
  }
}

}  // namespace

Conditions current_conditions(const fs::path& root) {
  Conditions now;
  add_frequencies(now, root / "sys/devices/system/cpu");
  const fs::path load = root / "proc/loadavg";
  now.load = load_of(load);
  if (!now.load) now.unavailable["load"] = not_available(problem_with(load));
  const fs::path pages = root / "sys/kernel/mm/transparent_hugepage/enabled";
  now.huge_pages = chosen_of(pages);
  if (!now.huge_pages) now.unavailable["huge_pages"] = not_available(problem_with(pages));
  return now;
}

std::optional<ProcessorTime> processor_time(const fs::path& root) {
  // "cpu  user nice system idle iowait irq softirq steal guest guest_nice" (man 5 proc); guest
  // time is already part of user time.
  constexpr std::size_t kSteal = 7;
  std::istringstream line(processor::read_line(root / "proc/stat").value_or(""));
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

std::string why_no_processor_time(const fs::path& root) {
  if (processor_time(root)) return "";
  return not_available(problem_with(root / "proc/stat"));
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
