#include "core/text/fingerprint.hpp"

#include <fmt/format.h>

namespace headroom {

std::string Fingerprint::text() const { return fmt::format("{:016x}", hash_); }

}  // namespace headroom
