// Numbers and texts of a binary header, one after the other.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weights/byte_source.hpp"

namespace headroom::weights {

/// Holds a piece of the file at a time, however large what it walks through is. Every call throws
/// FileError with the place where the file ends too early.
class ByteWalk {
 public:
  explicit ByteWalk(const ByteSource& bytes) : bytes_(bytes) {}

  std::int64_t place() const { return place_; }
  /// Bytes from here to the end.
  std::int64_t rest() const { return bytes_.size() - place_; }
  const ByteSource& bytes() const { return bytes_; }

  /// Little-endian.
  template <class T>
  T number() {
    T value;
    char text[sizeof value];
    copy(text);
    std::memcpy(&value, text, sizeof value);
    return value;
  }

  /// Fills `into`.
  void copy(std::span<char> into);

  /// @param what such as `an array`, for messages
  void skip(std::uint64_t count, std::string_view what);

  /// Refuses more items than the file can hold. @param least bytes that each takes
  void require(std::uint64_t count, std::int64_t least, std::string_view what) const;

 private:
  const ByteSource& bytes_;
  std::int64_t place_ = 0;
  std::int64_t first_ = 0;  // byte of the file where the piece begins
  std::vector<char> piece_;
};

}  // namespace headroom::weights
