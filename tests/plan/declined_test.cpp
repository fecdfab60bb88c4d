// Cells that a backend would compute as something else, and those that nobody asked for by name.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "headroom/isa.hpp"
#include "headroom/unit.hpp"
#include "plan/expand.hpp"

namespace headroom::plan::declined_test {
namespace {

// What each test asks for more.
Axes small(const char* backend, const char* precision) {
  Axes axes;
  axes.tokens = "4";
  axes.heads = "2";
  axes.backend = backend;
  axes.precision = precision;
  return axes;
}

TEST(DeclinedNumbers, WhatWouldBeComputedAsF32IsUnsupportedWithTheReason) {
  Axes axes = small("xsimd", "f32,bf16x6");
  axes.formulation = "split";
  axes.unit = "none";
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.cell_count(), 2U);
  EXPECT_FALSE(plan.groups.front().cells[0].unsupported);
  const Cell& parts = plan.groups.front().cells[1];
  EXPECT_TRUE(parts.unsupported);
  EXPECT_NE(parts.skip_reason.find("xsimd computes bf16x6 as f32: "), std::string::npos)
      << parts.skip_reason;
}

// A layer's weights are of floats here, which bytes are no products of; attention has none.
TEST(DeclinedNumbers, AttentionAloneMultipliesTheBytesOfItsCache) {
  Axes axes = small("xsimd", "int8");
  axes.op = "attention";
  axes.cache_dtype = "f32,q8";
  const Plan plan = expand(axes, {});
  ASSERT_EQ(plan.groups.size(), 2U);
  const Cell& floats = plan.groups[0].cells.front();
  EXPECT_NE(floats.skip_reason.find("keys and values of q8, and these are f32"), std::string::npos)
      << floats.skip_reason;
  const Cell& bytes = plan.groups[1].cells.front();
  EXPECT_FALSE(bytes.unsupported) << bytes.skip_reason;
}

TEST(DeclinedNumbers, OfPrecisionAutoOnlyWhatAUnitDoesIsMeasured) {
  Axes axes = small("xsimd,auto", "auto");
  axes.formulation = "split";
  axes.threads = "1";
  axes.unit = "none";
  const auto ids = [&] {
    std::vector<std::string> found;
    const Plan plan = expand(axes, {});
    for (const Cell& cell : plan.groups.front().cells) found.push_back(cell.id);
    return found;
  };
  EXPECT_EQ(ids(), (std::vector<std::string>{"split/xsimd/f32/t1/B1_T4_D128_H2",
                                             "split/auto/auto/t1/B1_T4_D128_H2"}))
      << "what no unit does was not asked for by name";
  axes.unit = "emulated";
  axes.dtype = "bf16";
  EXPECT_EQ(ids(), (std::vector<std::string>{"split/xsimd/f32-bf16/t1/B1_T4_D128_H2",
                                             "split/xsimd/fp16x3-bf16/t1/B1_T4_D128_H2",
                                             "split/xsimd/bf16x6-bf16/t1/B1_T4_D128_H2",
                                             "split/auto/auto-bf16/t1/B1_T4_D128_H2"}));
}

// What is as exact as f32 is measured beside it where the processor has a unit for it, and only for
// who names nothing.
TEST(QuickPreset, HasWhatAUnitDoesAsExactly) {
  const auto precisions = [](const Axes& axes) {
    std::set<Precision> found;
    for (const Group& group : expand(axes, {}).groups) {
      for (const Cell& cell : group.cells) found.insert(cell.numbers.precision);
    }
    return found;
  };
  const std::set<Precision> plain{Precision::f32};
  const bool has_tiles = available_units(select_isa({})).back() == Unit::amx;
  EXPECT_EQ(precisions({}).contains(Precision::bf16x6), has_tiles);
  Axes axes;
  axes.unit = "none";
  EXPECT_EQ(precisions(axes), plain);
  axes.unit = "emulated";  // too slow to be anybody's choice
  EXPECT_EQ(precisions(axes), plain);
  axes = {};
  axes.precision = "f32";
  EXPECT_EQ(precisions(axes), plain);
  axes = {};
  axes.tokens = "4";
  EXPECT_EQ(precisions(axes), plain);
}

}  // namespace
}  // namespace headroom::plan::declined_test
