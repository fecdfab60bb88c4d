#include "core/aligned_buffer.hpp"

namespace headroom {

AlignedBuffer::AlignedBuffer(std::int64_t count)
    : data_(static_cast<float*>(::operator new[](static_cast<std::size_t>(count) * sizeof(float),
                                                 std::align_val_t{kAlignment}))),
      size_(count) {}

}  // namespace headroom
