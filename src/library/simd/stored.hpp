// Memory whose elements are floats or `Half`, as a dtype says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/aligned_buffer.hpp"
#include "core/rounding.hpp"
#include "headroom/precision.hpp"
#include "simd/kernel_table.hpp"

namespace headroom::simd {

inline std::int64_t bytes_of(Dtype dtype, std::int64_t elements) {
  return elements * size_of(dtype);
}

/// A buffer counts floats.
inline AlignedBuffer buffer_of_bytes(std::int64_t bytes) {
  return AlignedBuffer(divide_up(bytes, std::int64_t{sizeof(float)}));
}

inline AlignedBuffer stored_buffer(Dtype dtype, std::int64_t elements) {
  return buffer_of_bytes(bytes_of(dtype, elements));
}

/// Where element `index` lies.
inline void* stored_at(void* data, Dtype dtype, std::int64_t index) {
  return static_cast<std::byte*>(data) + bytes_of(dtype, index);
}

}  // namespace headroom::simd
