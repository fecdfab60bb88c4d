// A short text that differs where what it was made from differs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

/// FNV-1a of 64 bits: it has to tell things apart, not to withstand anybody.
class Fingerprint {
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  /// Sixteen hexadecimal digits.
  std::string text() const;

 private:
  std::uint64_t hash_ = 14695981039346656037U;
};

/// Of the file that this program was started from; `"unknown"` where that cannot be read.
std::string fingerprint_of_program();

}  // namespace headroom
