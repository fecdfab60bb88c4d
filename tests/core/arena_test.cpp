// The buffers of a layer lie together on huge pages.
#include "core/arena.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/aligned_buffer.hpp"
#include "core/case_layer.hpp"
#include "support/child.hpp"
#include "support/layer_cases.hpp"
#include "support/sanitized.hpp"

namespace headroom::test::arena_test {
namespace {

constexpr std::int64_t kMillion = 1 << 20;

std::uintptr_t address(const AlignedBuffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data());
}

std::uintptr_t huge_page(const AlignedBuffer& buffer) {
  return address(buffer) / static_cast<std::uintptr_t>(kHugePage);
}

/// Of the mapping that holds the address, as the kernel counts them; nothing if there is none.
std::optional<std::int64_t> anonymous_huge_kib(std::uintptr_t wanted) {
  std::ifstream file("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    if (words >> std::hex >> first >> dash >> end && dash == '-') {
      inside = first <= wanted && wanted < end;
    } else if (inside && line.starts_with("AnonHugePages:")) {
      return std::stoll(line.substr(line.find(':') + 1));
    }
  }
  return std::nullopt;
}

bool is_mapped(std::uintptr_t wanted) { return anonymous_huge_kib(wanted).has_value(); }

/// Why there are no huge pages here; empty if there are.
std::string why_no_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string chosen;
  if (!std::getline(file, chosen)) return "the system has no transparent huge pages";
  if (chosen.find("[never]") != std::string::npos) return "transparent huge pages: never";
  return {};
}

TEST(Arena, BuffersAreAlignedAndApartInOneChunk) {
  const ArenaUse before = arena_use();
  std::vector<AlignedBuffer> buffers;
  std::int64_t bytes = 0;
  {
    const ArenaScope scope(3 * kMillion);
    for (const std::int64_t count : {1, 1000, 1024, 300'000, 17, 100'000}) {
      buffers.emplace_back(count);
      bytes += count * static_cast<std::int64_t>(sizeof(float));
    }
    EXPECT_EQ(arena_use().chunks, before.chunks + 1);
    EXPECT_EQ(arena_use().buffer_bytes, before.buffer_bytes + bytes);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(address(buffers[i]) % AlignedBuffer::kAlignment, 0U) << i;
    if (i == 0) continue;
    const std::uintptr_t end =
        address(buffers[i - 1]) + static_cast<std::uintptr_t>(buffers[i - 1].bytes());
    EXPECT_GE(address(buffers[i]), end) << i;
    EXPECT_LE(address(buffers[i]), end + 4096) << i;
  }
  EXPECT_EQ(address(buffers.front()) % static_cast<std::uintptr_t>(kHugePage), 0U);
  // Written to the last byte, also where the scope gave memory back.
  for (AlignedBuffer& buffer : buffers) std::fill_n(buffer.data(), buffer.size(), 1.0F);
}

TEST(Arena, BuffersOfWholePagesStartAtDifferentPlacesOfAPage) {
  const ArenaScope scope(4 * kMillion);
  std::vector<AlignedBuffer> buffers;
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 64; ++i) {
    places.insert(address(buffers.emplace_back(4096)) % 4096);
  }
  EXPECT_EQ(places.size(), 64U);
}

TEST(Arena, TheInnermostScopeCounts) {
  const ArenaUse before = arena_use();
  const ArenaScope outer(kMillion);
  const AlignedBuffer first(100);
  {
    const ArenaScope inner(kMillion);
    const AlignedBuffer other(100);
    EXPECT_NE(huge_page(other), huge_page(first));
    EXPECT_EQ(arena_use().chunks, before.chunks + 2);
    {
      const ArenaScope temporary(0);
      const AlignedBuffer apart(100);
      EXPECT_EQ(arena_use().buffer_bytes, before.buffer_bytes + 800);
    }
    const AlignedBuffer again(100);
    EXPECT_EQ(huge_page(again), huge_page(other));
  }
  const AlignedBuffer second(100);
  EXPECT_EQ(huge_page(second), huge_page(first));
}

TEST(Arena, OnlyTheThreadOfTheScopeTakesFromIt) {
  const ArenaUse before = arena_use();
  const ArenaScope scope(kMillion);
  std::jthread([] { const AlignedBuffer elsewhere(100); }).join();
  EXPECT_EQ(arena_use().chunks, before.chunks);
}

TEST(Arena, LittleMemoryGetsNoHugePage) {
  const ArenaUse before = arena_use();
  const ArenaScope scope(ArenaScope::kLeastBytes - 1);
  AlignedBuffer buffer(100);
  EXPECT_EQ(arena_use().chunks, before.chunks);
  EXPECT_NE(buffer.data(), nullptr);
}

TEST(Arena, WhatIsNotExpectedGetsAnotherChunk) {
  const ArenaUse before = arena_use();
  std::vector<AlignedBuffer> buffers;
  {
    const ArenaScope scope(kMillion);
    for (int i = 0; i < 5; ++i) buffers.emplace_back(kMillion);
  }
  EXPECT_GT(arena_use().chunks, before.chunks + 1);
  EXPECT_EQ(arena_use().buffer_bytes, before.buffer_bytes + 20 * kMillion);
  for (AlignedBuffer& buffer : buffers) std::fill_n(buffer.data(), buffer.size(), 1.0F);
}

TEST(Arena, TheScopeGivesBackWhatNobodyTook) {
  const ArenaScope outer(0);
  std::optional<ArenaScope> scope(100 * kMillion);
  const AlignedBuffer buffer(100);
  const std::uintptr_t second_page = address(buffer) + static_cast<std::uintptr_t>(kHugePage);
  ASSERT_TRUE(is_mapped(second_page));
  scope.reset();
  EXPECT_FALSE(is_mapped(second_page));
  EXPECT_TRUE(is_mapped(address(buffer)));
}

TEST(Arena, AChunkLivesAsLongAsItsLastBuffer) {
  const ArenaUse before = arena_use();
  AlignedBuffer kept;
  std::uintptr_t place = 0;
  {
    const ArenaScope scope(kMillion);
    AlignedBuffer first(100);
    AlignedBuffer second(100);
    place = address(first);
    first.data()[99] = 5;
    kept = std::move(first);
    // NOLINTNEXTLINE(bugprone-use-after-move, clang-analyzer-cplusplus.Move): promised to be empty
    EXPECT_TRUE(first.data() == nullptr && first.size() == 0);
  }
  EXPECT_EQ(address(kept), place);
  EXPECT_EQ(kept.data()[99], 5);
  AlignedBuffer last(std::move(kept));
  EXPECT_EQ(last.data()[99], 5);
  EXPECT_EQ(arena_use().chunks, before.chunks + 1);
  last = AlignedBuffer(3);
  EXPECT_EQ(arena_use().chunks, before.chunks);
  EXPECT_EQ(arena_use().buffer_bytes, before.buffer_bytes);
  EXPECT_FALSE(is_mapped(place));
}

TEST(Arena, ItsPagesAreHuge) {
  if (const std::string reason = why_no_huge_pages(); !reason.empty()) GTEST_SKIP() << reason;
  const ArenaScope scope(8 * kMillion);
  AlignedBuffer small(100);
  AlignedBuffer buffer(kMillion);
  small.data()[0] = 1;
  EXPECT_EQ(anonymous_huge_kib(address(buffer)).value_or(0), kHugePage >> 10)
      << "one page was touched, by its writer and by nobody else";
  std::fill_n(buffer.data(), buffer.size(), 1.0F);
  EXPECT_EQ(anonymous_huge_kib(address(buffer)).value_or(0), 3 * kHugePage >> 10);
}

std::string make_buffers(int limited, rlim_t limit, std::int64_t count) {
  return in_child([=]() -> std::string {
    const rlimit small{limit, limit};
    if (setrlimit(static_cast<__rlimit_resource>(limited), &small) != 0) return "cannot limit";
    const ArenaScope scope(1000 * kMillion);
    try {
      AlignedBuffer first(100);
      AlignedBuffer second(count);
      return arena_use().chunks > 0 ? "from a chunk" : "by themselves";
    } catch (const std::bad_alloc&) {
      return "refused";
    }
  });
}

TEST(Arena, RunningOutOfMemoryIsAnError) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not run under such a limit";
  for (const int limited : {RLIMIT_AS, RLIMIT_DATA}) {
    constexpr rlim_t kLimit = 500 << 20;
    EXPECT_EQ(make_buffers(limited, kLimit, 1000 * kMillion), "refused");
    EXPECT_EQ(make_buffers(limited, kLimit, 10 * kMillion), "from a chunk")
        << "a layer that fits must not fail because more was expected";
  }
}

TEST(Arena, AbsurdSizesAreErrors) {
  if (kSanitized) GTEST_SKIP() << "sanitizers end the process instead";
  const ArenaScope scope(std::numeric_limits<std::int64_t>::max());
  for (const int bits : {46, 58, 60, 61, 62}) {
    EXPECT_THROW(AlignedBuffer(std::int64_t{1} << bits), std::bad_alloc) << bits;
  }
  EXPECT_NE(AlignedBuffer(100).data(), nullptr);
}

#ifdef __SANITIZE_ADDRESS__
TEST(Arena, WritingBehindABufferIsNoticed) {
  const ArenaScope scope(kMillion);
  AlignedBuffer buffer(17);
  const AlignedBuffer next(100);
  EXPECT_DEATH(buffer.data()[17] = 1, "use-after-poison");
}
#endif

class LayerArena : public LayerTest {};

TEST_P(LayerArena, ALayersBuffersLieInOneChunk) {
  Case shape = plain_shape(100, 192, 4, 48);
  shape.d_proj = 192;
  shape.qkv_bias = true;
  shape.dropout = 0.1;
  const Layer layer = gaussian_layer(shape);
  const ArenaUse before = arena_use();
  {
    Attention attention = layer_for(shape, layer.weights, GetParam().options());
    const AttentionCosts& costs = attention.costs();
    const ArenaUse now = arena_use();
    EXPECT_EQ(now.chunks, before.chunks + 1);
    // Rows of flags are not floats, so they need not lie there.
    constexpr std::int64_t kFlags = 1024;
    const std::int64_t kept = costs.packed_bytes + costs.workspace_bytes;
    const std::int64_t found = now.buffer_bytes - before.buffer_bytes;
    EXPECT_GE(found, kept - kFlags);
    EXPECT_LE(found, kept + kept / 10) << "temporary buffers use up the chunk";
    const AlignedBuffer later(100);
    EXPECT_EQ(arena_use().buffer_bytes, now.buffer_bytes) << "the scope did not end";
  }
  EXPECT_EQ(arena_use().chunks, before.chunks);
}

TEST_P(LayerArena, ASmallLayerTakesNoHugePage) {
  Case shape = plain_shape(8, 24, 2, 12);
  shape.d_proj = 32;
  const Layer layer = gaussian_layer(shape);
  const ArenaUse before = arena_use();
  const Attention attention = layer_for(layer.shape, layer.weights, GetParam().options());
  EXPECT_EQ(arena_use().chunks, before.chunks);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerArena, testing::ValuesIn(layer_cases()), case_name);

}  // namespace
}  // namespace headroom::test::arena_test
