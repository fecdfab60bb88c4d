#include "core/arena.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/rounding.hpp"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif

namespace headroom {
namespace {

constexpr std::int64_t kLine = 64;
// Buffers are often multiples of 4 KiB. Without gaps they would all start at the same place of a
// page: in the same sets of the L1, and where a load seems to depend on a store to another buffer,
// because the processor compares the lowest 12 bits first. 17 lines are coprime to a page's 64, so
// 64 such buffers in a row start at 64 places, and neighbours more than 1 KiB apart.
constexpr std::int64_t kGap = 17 * kLine;
// No system grants more, and up to here no sum below overflows.
constexpr std::int64_t kMostArenaBytes = std::numeric_limits<std::int64_t>::max() / 4;

std::atomic<std::int64_t> live_chunks{0};
std::atomic<std::int64_t> live_buffer_bytes{0};

// To the address sanitizer, gaps are not memory.
void poison([[maybe_unused]] std::byte* data, [[maybe_unused]] std::int64_t bytes) {
#ifdef ASAN_POISON_MEMORY_REGION
  ASAN_POISON_MEMORY_REGION(data, static_cast<std::size_t>(bytes));
#endif
}

void unpoison([[maybe_unused]] std::byte* data, [[maybe_unused]] std::int64_t bytes) {
#ifdef ASAN_UNPOISON_MEMORY_REGION
  ASAN_UNPOISON_MEMORY_REGION(data, static_cast<std::size_t>(bytes));
#endif
}

void unmap([[maybe_unused]] std::byte* data, [[maybe_unused]] std::int64_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes > 0) ::munmap(data, static_cast<std::size_t>(bytes));
#endif
}

// Whole huge pages. @return null where the system has no such pages, or refuses the memory
std::byte* map_huge([[maybe_unused]] std::int64_t bytes) {
#ifdef MADV_HUGEPAGE
  void* found = ::mmap(nullptr, static_cast<std::size_t>(bytes + kHugePage), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  auto* data = static_cast<std::byte*>(found);
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(found));
  const std::int64_t before = round_up(address, kHugePage) - address;
  unmap(data, before);
  unmap(data + before + bytes, kHugePage - before);
  ask_for_huge_pages(data + before, bytes);
  return data + before;
#else
  return nullptr;
#endif
}

}  // namespace

// Buffers one after the other, each followed by a gap.
class Chunk {
 public:
  Chunk() { ++live_chunks; }
  ~Chunk() {
    unpoison(data_, bytes_);
    unmap(data_, bytes_);
    live_buffer_bytes -= buffer_bytes_;
    --live_chunks;
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  bool map(std::int64_t bytes) {
    data_ = map_huge(bytes);
    if (data_ == nullptr) return false;
    bytes_ = bytes;
    poison(data_, bytes_);
    return true;
  }

  std::byte* take(std::int64_t bytes) {
    if (bytes > bytes_ - next_) return nullptr;
    std::byte* buffer = data_ + next_;
    unpoison(buffer, bytes);
    end_ = next_ + bytes;
    next_ = round_up(end_, kLine) + kGap;
    buffer_bytes_ += bytes;
    live_buffer_bytes += bytes;
    return buffer;
  }

  void give_back_rest() {
    const std::int64_t kept = round_up(end_, kHugePage);
    unpoison(data_ + kept, bytes_ - kept);
    unmap(data_ + kept, bytes_ - kept);
    bytes_ = kept;
  }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t end_ = 0;   // of the last buffer
  std::int64_t next_ = 0;  // where the next one would start
  std::int64_t buffer_bytes_ = 0;
};

namespace {

// @return null if the system refuses even `least`
std::shared_ptr<Chunk> make_chunk(std::int64_t wanted, std::int64_t least) {
  auto chunk = std::make_shared<Chunk>();
  for (const std::int64_t bytes : {wanted, least}) {
    if (chunk->map(round_up(std::max(bytes, kLine), kHugePage))) return chunk;
  }
  return nullptr;
}

}  // namespace

void ask_for_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::int64_t bytes) {
#ifdef MADV_HUGEPAGE
  ::madvise(data, static_cast<std::size_t>(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
#endif
}

class Arena {
 public:
  // An eighth more, for the gaps.
  explicit Arena(std::int64_t expected) : wanted_(expected + expected / 8) {}
  ~Arena() { leave_chunk(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::shared_ptr<float[]> take(std::int64_t bytes) {
    if (bytes < 0 || bytes > kMostArenaBytes) return nullptr;
    std::byte* buffer = chunk_ ? chunk_->take(bytes) : nullptr;
    if (buffer == nullptr) {
      std::shared_ptr<Chunk> next = make_chunk(std::max(wanted_, bytes), bytes);
      if (!next) return nullptr;
      leave_chunk();
      chunk_ = std::move(next);
      wanted_ /= 2;
      buffer = chunk_->take(bytes);
    }
    return {chunk_, reinterpret_cast<float*>(buffer)};
  }

 private:
  void leave_chunk() {
    if (chunk_) chunk_->give_back_rest();
  }

  std::int64_t wanted_;  // of the next chunk; it is not known how much too little was expected
  std::shared_ptr<Chunk> chunk_;
};

namespace {
thread_local Arena* innermost = nullptr;
}  // namespace

ArenaScope::ArenaScope(std::int64_t expected_bytes) : outer_(innermost) {
  if (expected_bytes >= kLeastBytes) {
    arena_ = std::make_unique<Arena>(std::min(expected_bytes, kMostArenaBytes));
  }
  innermost = arena_.get();
}

ArenaScope::~ArenaScope() { innermost = outer_; }

std::shared_ptr<float[]> take_from_arena(std::int64_t bytes) {
  return innermost != nullptr ? innermost->take(bytes) : nullptr;
}

ArenaUse arena_use() { return {live_chunks, live_buffer_bytes}; }

}  // namespace headroom
