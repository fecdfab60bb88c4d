#include "core/aligned_buffer.hpp"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace headroom {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Only the huge pages that lie wholly inside: the buffer never takes more memory than its size.
void ask_for_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  // Only a hint: without huge pages the program is slower, not wrong.
  ::madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::int64_t count) : size_(count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  const bool large = bytes >= kHugePage;
  const std::align_val_t alignment{large ? kHugePage : kAlignment};
  data_ = std::unique_ptr<float[], Free>(static_cast<float*>(::operator new[](bytes, alignment)),
                                         Free{alignment});
  if (large) ask_for_huge_pages(data_.get(), bytes);
}

}  // namespace headroom
