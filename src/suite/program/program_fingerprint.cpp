#include "program/program_fingerprint.hpp"

#include "core/text/fingerprint.hpp"
#include "processor/text_file.hpp"

namespace headroom {

std::string fingerprint_of_program() {
  const auto program = processor::read_text("/proc/self/exe");
  if (!program) return "unknown";
  Fingerprint fingerprint;
  fingerprint.add(*program);
  return fingerprint.text();
}

}  // namespace headroom
