// Cells that a backend would compute as something else.
#include <gtest/gtest.h>

#include <string>

#include "plan/expand.hpp"

namespace headroom::plan {
namespace {

TEST(DeclinedNumbers, WhatWouldBeComputedAsF32IsUnsupportedWithTheReason) {
  Axes axes;
  axes.backend = "xsimd";
  axes.formulation = "split";
  axes.tokens = "4";
  axes.heads = "2";
  axes.precision = "f32,bf16x6";
  axes.unit = "none";
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.cell_count(), 2U);
  EXPECT_FALSE(plan.groups.front().cells[0].unsupported);
  const Cell& parts = plan.groups.front().cells[1];
  EXPECT_TRUE(parts.unsupported);
  EXPECT_NE(parts.skip_reason.find("xsimd computes bf16x6 as f32: "), std::string::npos)
      << parts.skip_reason;
}

}  // namespace
}  // namespace headroom::plan
