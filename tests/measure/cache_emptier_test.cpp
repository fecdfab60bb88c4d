// Cold caches: the buffer that empties them is larger than all of them, or the run is refused.
#include "measure/cache_emptier.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "machine/processor.hpp"
#include "program/exit_code.hpp"

namespace headroom::measure {
namespace {

float no_read(const float*, std::int64_t) { return 0; }

TEST(ColdCaches, AreRefusedWhereMemoryIsSmallerThanTheCaches) {
  std::string message;
  try {
    CacheEmptier().prepare(no_read, 4096);
  } catch (const ResourceError& error) {
    message = error.what();
  }
  EXPECT_TRUE(message.starts_with("--cache cold: ")) << message;
  EXPECT_NE(message.find("--cache warm"), std::string::npos) << message;
  EXPECT_THROW(require_emptiable_caches(4096), ResourceError);
}

TEST(ColdCaches, AreEmptiedWithMoreThanTheyHold) {
  const std::int64_t all = machine::describe_processor().all_caches_bytes();
  if (all == 0) GTEST_SKIP() << "the caches of this machine are unknown";
  require_emptiable_caches(std::numeric_limits<std::int64_t>::max());
  CacheEmptier emptier;
  emptier.prepare(no_read, 6 * all);
  EXPECT_GT(emptier.bytes(), all);
  EXPECT_LE(emptier.bytes(), 6 * all / 4);
}

}  // namespace
}  // namespace headroom::measure
