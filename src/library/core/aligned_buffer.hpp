// Owning float storage whose first element is aligned for every vector width and cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "headroom/export.h"

namespace headroom {

/// Uninitialised floats, 64-byte aligned. Not std::vector, because that would zero every page of a
/// packed weight matrix before it is overwritten. The memory comes from the arena of the layer that
/// is being made (`ArenaScope`). Elsewhere large buffers ask for huge pages by themselves: packed
/// weights are streamed once per pass, and with small pages a virtual machine walks two page tables
/// per 4 KiB.
class HEADROOM_API AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t count);
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() = default;

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(sizeof(float)); }

 private:
  std::shared_ptr<float[]> data_;  ///< of its own, or a share of a chunk
  std::int64_t size_ = 0;
};

}  // namespace headroom
