// The memory of one layer: its buffers side by side on huge pages.
#pragma once

#include <cstdint>
#include <memory>

#include "headroom/export.h"

namespace headroom {

inline constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

/// Asks for huge pages where they lie wholly inside. Only a hint: without them the program is
/// slower, not wrong.
void ask_for_huge_pages(void* data, std::int64_t bytes);

class Arena;

/// While a scope lives, every `AlignedBuffer` that its thread makes is cut from the scope's chunks
/// of huge pages. A short buffer by itself lies on small pages, and how fast those are read differs
/// from one start of the program to the next. Of scopes inside each other the innermost counts.
///
/// A buffer may outlive its scope: a chunk is given back with the last of its buffers. The memory
/// of a buffer that dies earlier is not used again, so a temporary one belongs into a scope of size
/// 0.
class HEADROOM_API ArenaScope {
 public:
  /// Less fits 64 small pages, which the first-level TLB holds, and would leave a huge page mostly
  /// empty. Of small layers four times too much may be expected, so none below 64 KiB gets one.
  static constexpr std::int64_t kLeastBytes = 256 << 10;

  /// @param expected_bytes what the buffers will take together. Too much costs address space until
  ///        the scope ends, with too little there will be further chunks. Below `kLeastBytes` every
  ///        buffer is allocated by itself, as without a scope.
  explicit ArenaScope(std::int64_t expected_bytes);
  ~ArenaScope();
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  std::unique_ptr<Arena> arena_;  ///< null if too little is expected
  Arena* outer_;
};

/// Uninitialised memory from the thread's innermost scope, aligned to a cache line. It was not
/// touched yet, so each page is placed near the thread that writes it first.
/// @return null without a scope and where the system refuses a chunk: then allocate otherwise
std::shared_ptr<float[]> take_from_arena(std::int64_t bytes);

/// What the scopes of this process hold, or what outlives them.
struct ArenaUse {
  std::int64_t chunks = 0;
  std::int64_t buffer_bytes = 0;  ///< of all buffers ever cut from these chunks
};
HEADROOM_API ArenaUse arena_use();

}  // namespace headroom
