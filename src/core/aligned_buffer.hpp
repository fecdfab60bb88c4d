// Owning float storage whose first element is aligned for every vector width and cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace headroom {

/// Uninitialised floats, 64-byte aligned. Not std::vector, because that would zero every page of a
/// packed weight matrix before it is overwritten.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t count);

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(float)); }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<float[], Free> data_;
  std::int64_t size_ = 0;
};

}  // namespace headroom
