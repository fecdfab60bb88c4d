#include "machine/counters/reasons.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>

#include "core/text/shown.hpp"
#include "processor/text_file.hpp"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

std::string words_of(int error) { return std::generic_category().message(error); }

}  // namespace

std::string why_nothing_in(const fs::path& folder, const std::string& thing) {
  if (access(folder.c_str(), R_OK) != 0) {
    return fmt::format("{}: {}", shown_path(folder), words_of(errno));
  }
  return fmt::format("{}: has no {}", shown_path(folder), thing);
}

std::string why_no_number(const fs::path& file) {
  if (access(file.c_str(), R_OK) != 0) {
    const int error = errno;
    const char* next = error == EACCES ? " (allow it: sudo chmod a+r on this file)" : "";
    return fmt::format("{}: {}{}", shown_path(file), words_of(error), next);
  }
  const std::optional<std::int64_t> number = processor::read_number(file);
  return number && *number >= 0 ? "" : fmt::format("{}: does not say", shown_path(file));
}

std::string if_virtual(const fs::path& root) {
  const std::string text = processor::read_text(root / "proc/cpuinfo").value_or("");
  const bool is = text.find(" hypervisor") != std::string::npos;
  return is ? "; this is a virtual machine, and few of them show it" : "";
}

}  // namespace headroom::machine
