#include "core/aligned_buffer.hpp"

#include <limits>
#include <new>

#include "core/arena.hpp"

namespace headroom {
namespace {

std::shared_ptr<float[]> allocate(std::size_t bytes) {
  const bool large = bytes >= static_cast<std::size_t>(kHugePage);
  const auto alignment =
      large ? std::align_val_t{kHugePage} : std::align_val_t{AlignedBuffer::kAlignment};
  std::shared_ptr<float[]> data(static_cast<float*>(::operator new[](bytes, alignment)),
                                [alignment](float* p) { ::operator delete[](p, alignment); });
  if (large) ask_for_huge_pages(data.get(), static_cast<std::int64_t>(bytes));
  return data;
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::int64_t count) : size_(count) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max() / std::int64_t{sizeof(float)};
  if (count < 0 || count > kMost) throw std::bad_array_new_length();
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  data_ = take_from_arena(static_cast<std::int64_t>(bytes));
  if (!data_) data_ = allocate(bytes);
}

}  // namespace headroom
