#include "program/program_fingerprint.hpp"

#include "core/text/fingerprint.hpp"
#include "machine/text_file.hpp"

namespace headroom {

std::string fingerprint_of_program() {
  const auto program = machine::read_text("/proc/self/exe");
  if (!program) return "unknown";
  Fingerprint fingerprint;
  fingerprint.add(*program);
  return fingerprint.text();
}

}  // namespace headroom
