// What stands beside a kernel's share above 100 %.
#include "kernels/above.hpp"

#include <gtest/gtest.h>

namespace headroom::bench::above_test {
namespace {

TEST(KernelShares, UpToTheLimitNeedNoReason) {
  EXPECT_EQ(why_above({}), "");
  EXPECT_EQ(why_above({.peak = 1, .tile = 1.0004, .read = 0.5}), "");
}

TEST(KernelShares, EachAboveItsLimitHasAReason) {
  EXPECT_NE(why_above({.peak = 1.02}).find("multiply-adds beside the row were slowed"),
            std::string::npos);
  EXPECT_NE(why_above({.tile = 1.02}).find("tile_share above 1"), std::string::npos);
  EXPECT_NE(why_above({.read = 1.2}).find("nearer cache"), std::string::npos);
  const std::string parts = why_above({.peak = 2.5, .read = 1.2, .parts = true});
  EXPECT_NE(parts.find("a unit multiplies parts; read_share"), std::string::npos) << parts;
}

}  // namespace
}  // namespace headroom::bench::above_test
