// A short text that identifies its input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headroom/export.h"

namespace headroom {

/// 64-bit FNV-1a: it needs to distinguish inputs, not to resist attacks.
class Fingerprint {
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  std::uint64_t value() const { return hash_; }
  /// Sixteen hexadecimal digits.
  HEADROOM_API std::string text() const;

 private:
  std::uint64_t hash_ = 14695981039346656037U;
};

}  // namespace headroom
