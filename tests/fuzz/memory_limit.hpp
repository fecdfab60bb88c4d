// Ends the process where one input makes the program hold more memory than its size and 64 MiB.
// libFuzzer's own limit is of the process, most of which is the sanitizer's.
#pragma once

#include <sanitizer/allocator_interface.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace headroom::fuzz {

inline constexpr std::int64_t kAllowance = std::int64_t{64} << 20;

inline std::atomic<std::int64_t> held{0};
inline std::atomic<std::int64_t> most{INT64_MAX};

inline void count_new(const volatile void*, std::size_t size) {
  const std::int64_t now = held += static_cast<std::int64_t>(size);
  if (now <= most) return;
  std::fprintf(stderr, "memory: %lld bytes are held for this input, %lld are allowed\n",
               static_cast<long long>(now), static_cast<long long>(most));
  std::abort();
}

inline void count_deleted(const volatile void* memory) {
  if (memory == nullptr) return;
  held -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(memory));
}

/// While it lives, the input may take `size` bytes and the allowance more than was held before.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t size) {
    static const int installed =
        __sanitizer_install_malloc_and_free_hooks(count_new, count_deleted);
    if (installed == 0) std::abort();
    most = held + static_cast<std::int64_t>(size) + kAllowance;
  }
  ~MemoryLimit() { most = INT64_MAX; }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

}  // namespace headroom::fuzz
