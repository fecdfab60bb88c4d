// An exception inside a parallel region of oneDNN's runtime leaves it with its type intact.
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "backends/onednn/runtime.hpp"

namespace headroom::onednn {
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

}  // namespace
}  // namespace headroom::onednn
