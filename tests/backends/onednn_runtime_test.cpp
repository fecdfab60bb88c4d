// An exception inside a parallel region of oneDNN's runtime leaves it with its type intact.
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/onednn/runtime.hpp"
#include "backends/onednn/tile_fault.hpp"

namespace headroom::onednn::onednn_runtime_test {
namespace {

TEST(OnednnRuntime, AnExceptionOfATaskLeavesTheRegionAsItIs) {
  for (const int threads : {1, 2}) {
    const auto run = [&](auto&& task) { parallel_for(threads, 8, task); };
    EXPECT_THROW(run([](std::int64_t i, int) {
                   if (i == 5) throw std::bad_alloc();
                 }),
                 std::bad_alloc);
    EXPECT_THROW(run([](std::int64_t, int) { throw std::out_of_range("each of them"); }),
                 std::out_of_range);
  }
}

TEST(OnednnRuntime, OutOfMemoryOfTheLibraryIsBadAlloc) {
  const auto fail_with = [](dnnl_status_t status) {
    return [status]() -> int { throw dnnl::error(status, "from the library"); };
  };
  EXPECT_THROW(with_bad_alloc(fail_with(dnnl_out_of_memory)), std::bad_alloc);
  EXPECT_THROW(with_bad_alloc(fail_with(dnnl_unimplemented)), dnnl::error);
}

// No processor here has AMX; what is decided goes by versions and by what oneDNN says it uses.
TEST(OnednnTiles, AreNotUsedByVersionsThatCanEndTheProcess) {
  for (const Version version : {Version{2, 6, 0}, {2, 6, 3}, {2, 7, 3}, {3, 0, 0}, {3, 0, 1}}) {
    EXPECT_EQ(most_instructions(version), dnnl::cpu_isa::avx512_core_bf16) << version.minor;
    EXPECT_NE(tile_fault_of(version, dnnl::cpu_isa::avx512_core_amx), "") << version.minor;
    EXPECT_EQ(tile_fault_of(version, dnnl::cpu_isa::avx512_core_bf16), "") << version.minor;
    EXPECT_EQ(tile_fault_of(version, dnnl::cpu_isa::avx2), "") << version.minor;
  }
  for (const Version version : {Version{2, 7, 4}, {2, 7, 5}, {3, 1, 0}, {3, 7, 2}, {4, 0, 0}}) {
    EXPECT_EQ(most_instructions(version), kNoIsaLimit) << version.minor;
    EXPECT_EQ(tile_fault_of(version, dnnl::cpu_isa::avx512_core_amx), "") << version.minor;
  }
}

TEST(OnednnTiles, SayWhatToDoWhereTheyCannotBeRuledOut) {
  const std::string fault = tile_fault_of({2, 6, 3}, dnnl::cpu_isa::avx512_core_amx);
  for (const char* part : {"oneDNN 2.6.3", "AMX", "DNNL_MAX_CPU_ISA=AVX512_CORE_BF16", "2.7.4"}) {
    EXPECT_NE(fault.find(part), std::string::npos) << part << " in: " << fault;
  }
}

TEST(OnednnTiles, TheUnitIsTheNextBestWhereTheyCanEndTheProcess) {
  const std::vector<Unit> all{Unit::emulated, Unit::none, Unit::avx512_bf16, Unit::amx};
  const std::vector<Unit> tiles{Unit::emulated, Unit::none, Unit::amx};
  EXPECT_EQ(unit_without_fault(Unit::amx, all, {2, 6, 3}), Unit::avx512_bf16);
  EXPECT_EQ(unit_without_fault(Unit::amx, tiles, {2, 6, 3}), Unit::none);
  EXPECT_EQ(unit_without_fault(Unit::amx, all, {3, 1, 0}), Unit::amx);
  EXPECT_EQ(unit_without_fault(Unit::none, all, {2, 6, 3}), Unit::none);
}

// Without FMA the highest level here is SSE4.2, which alone would not keep the library from AVX2.
TEST(OnednnLevel, IsHeldWhereTheProcessorHasAvx2AndNoFma) {
  constexpr Target kLowest{Isa::sse42, Unit::none};
  constexpr Target kMiddle{Isa::avx2, Unit::none};
  EXPECT_TRUE(must_be_limited(kLowest, kLowest, {.avx2 = true, .fma = false}));
  EXPECT_FALSE(must_be_limited(kLowest, kLowest, {.avx2 = false, .fma = false}));
  EXPECT_FALSE(must_be_limited(kMiddle, kMiddle, {.avx2 = true, .fma = true}));
  EXPECT_TRUE(must_be_limited(kLowest, kMiddle, {.avx2 = true, .fma = true}));
}

// The limit is set once per process, so whoever sets it later is refused.
TEST(OnednnTiles, AreRuledOutBeforeTheLibraryIsUsed) {
  if (!has_tile_fault(library_version())) GTEST_SKIP() << "this oneDNN uses tiles without fault";
  limit_library(select_target());
  EXPECT_NE(dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core), dnnl::status::success);
  EXPECT_NO_THROW(refuse_tile_fault());
}

}  // namespace
}  // namespace headroom::onednn::onednn_runtime_test
