// Owning float storage whose first element is aligned for every vector width and cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "headroom/export.h"

namespace headroom {

/// Uninitialised floats, 64-byte aligned. Not std::vector, because that would zero every page of a
/// packed weight matrix before it is overwritten. Large buffers ask for huge pages: packed weights
/// are streamed once per pass, and with small pages a virtual machine walks two page tables per
/// 4 KiB.
class HEADROOM_API AlignedBuffer {
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
    std::align_val_t alignment;
    void operator()(float* p) const { ::operator delete[](p, alignment); }
  };
  std::unique_ptr<float[], Free> data_{nullptr, Free{std::align_val_t{kAlignment}}};
  std::int64_t size_ = 0;
};

}  // namespace headroom
