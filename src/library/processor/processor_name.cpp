#include "processor/processor_name.hpp"

#include <sys/utsname.h>

#include <sstream>

#include "core/text/trimmed.hpp"
#include "processor/text_file.hpp"

namespace headroom::processor {

std::string cpuinfo_value(std::string_view key) {
  std::istringstream lines(read_text("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return "";
}

std::string processor_name() {
  std::string name = cpuinfo_value("model name");
  if (!name.empty()) return name;
  // Arm kernels report only numbers.
  const std::string implementer = cpuinfo_value("CPU implementer");
  if (implementer.empty()) return "unknown";
  return "implementer " + implementer + " part " + cpuinfo_value("CPU part");
}

std::string processor_architecture() {
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace headroom::processor
