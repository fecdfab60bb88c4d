// Floats with a page on each side that may not be touched: reading or writing outside crashes,
// also from code that sanitizers cannot see into, such as a library's generated code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headroom::test {

class GuardedBuffer {
 public:
  /// Where the floats lie between the guards; the side that touches none has slack to the page.
  enum class Side { at_start, at_end };

  GuardedBuffer(std::int64_t count, Side side);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  float* data() const { return data_; }
  std::span<float> values() const { return {data_, count_}; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  float* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace headroom::test
