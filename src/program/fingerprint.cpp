#include "program/fingerprint.hpp"

#include <fmt/format.h>

#include "machine/text_file.hpp"

namespace headroom {

std::string Fingerprint::text() const { return fmt::format("{:016x}", hash_); }

std::string fingerprint_of_program() {
  const auto program = machine::read_text("/proc/self/exe");
  if (!program) return "unknown";
  Fingerprint fingerprint;
  fingerprint.add(*program);
  return fingerprint.text();
}

}  // namespace headroom
